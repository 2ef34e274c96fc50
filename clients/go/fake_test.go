package outrigger_test

import (
	"context"
	"maps"
	"net"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"

	outrigger "github.com/outrigger-inference/outrigger/clients/go"
	pb "github.com/outrigger-inference/outrigger/clients/go/outrigger/v1"
)

// promptly bounds what must happen at once. It is generous so that a busy machine does not fail a test.
const promptly = 5 * time.Second

type (
	toolStream   = grpc.BidiStreamingServer[pb.RunToolsRequest, pb.RunToolsResponse]
	eventStream  = grpc.ServerStreamingServer[pb.StreamEvent]
	objectStream = grpc.ServerStreamingServer[pb.StreamObjectResponse]
)

// fakeSidecar answers calls with functions of the test. A method without one is not implemented.
type fakeSidecar struct {
	pb.UnimplementedInferenceServiceServer
	pb.UnimplementedGenerationServiceServer

	complete       func(context.Context, *pb.Request) (*pb.Response, error)
	stream         func(*pb.Request, eventStream) error
	generate       func(context.Context, *pb.GenerateRequest) (*pb.GenerateResponse, error)
	generateObject func(context.Context, *pb.GenerateObjectRequest) (*pb.GenerateObjectResponse, error)
	streamObject   func(*pb.StreamObjectRequest, objectStream) error
	runTools       func(toolStream) error
}

func (f *fakeSidecar) Complete(ctx context.Context, request *pb.Request) (*pb.Response, error) {
	if f.complete == nil {
		return f.UnimplementedInferenceServiceServer.Complete(ctx, request)
	}
	return f.complete(ctx, request)
}

func (f *fakeSidecar) Stream(request *pb.Request, stream eventStream) error {
	return f.stream(request, stream)
}

func (f *fakeSidecar) Generate(ctx context.Context, request *pb.GenerateRequest) (*pb.GenerateResponse, error) {
	return f.generate(ctx, request)
}

func (f *fakeSidecar) GenerateObject(
	ctx context.Context, request *pb.GenerateObjectRequest,
) (*pb.GenerateObjectResponse, error) {
	return f.generateObject(ctx, request)
}

func (f *fakeSidecar) StreamObject(request *pb.StreamObjectRequest, stream objectStream) error {
	return f.streamObject(request, stream)
}

func (f *fakeSidecar) RunTools(stream toolStream) error {
	return f.runTools(stream)
}

// listen serves a fake sidecar on an address until the test ends.
func listen(t *testing.T, network, address string, fake *fakeSidecar) string {
	t.Helper()
	bound, stop := serve(t, network, address, fake)
	t.Cleanup(stop)
	return bound
}

// serve serves a fake sidecar on an address until it is stopped.
func serve(
	t *testing.T, network, address string, fake *fakeSidecar, options ...grpc.ServerOption,
) (bound string, stop func()) {
	t.Helper()
	listener, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	// Handlers use the test, which must not end before them.
	options = append(options, grpc.MaxRecvMsgSize(64<<20), grpc.WaitForHandlers(true))
	server := grpc.NewServer(options...)
	pb.RegisterInferenceServiceServer(server, fake)
	pb.RegisterGenerationServiceServer(server, fake)
	go func() { _ = server.Serve(listener) }()
	return listener.Addr().String(), server.Stop
}

// listenWith serves what register adds to a server until the test ends.
func listenWith(t *testing.T, register func(*grpc.Server)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.WaitForHandlers(true))
	register(server)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

// connect returns a client of a fake sidecar.
func connect(t *testing.T, fake *fakeSidecar) *outrigger.Client {
	t.Helper()
	return newClient(t, outrigger.WithAddress(listen(t, "tcp", "127.0.0.1:0", fake)))
}

func newClient(t *testing.T, options ...outrigger.Option) *outrigger.Client {
	t.Helper()
	client, err := outrigger.NewClient(options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// answer is a whole answer of a model.
func answer(text string) *pb.Response {
	return &pb.Response{
		Message:      outrigger.AssistantMessage(text),
		FinishReason: &pb.FinishReason{Reason: pb.FinishReason_REASON_STOP},
		Usage:        &pb.Usage{InputTokens: 3, OutputTokens: 4, TotalTokens: 7},
	}
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, condition <-chan struct{}) {
	t.Helper()
	select {
	case <-condition:
	case <-time.After(promptly):
		t.Fatalf("%s did not happen within %v", what, promptly)
	}
}

// check fails the test unless a value is the expected one.
func check[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// keys returns the sorted names of an object.
func keys(object map[string]any) []string {
	return slices.Sorted(maps.Keys(object))
}
