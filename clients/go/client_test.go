package outrigger_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"

	outrigger "github.com/outrigger-inference/outrigger/clients/go"
	pb "github.com/outrigger-inference/outrigger/clients/go/outrigger/v1"
)

// completing returns a fake sidecar that answers Complete with a text.
func completing(text string) *fakeSidecar {
	return &fakeSidecar{complete: func(context.Context, *pb.Request) (*pb.Response, error) {
		return answer(text), nil
	}}
}

func TestAddressComesFromTheArgumentThenTheEnvironment(t *testing.T) {
	t.Setenv("OUTRIGGER_ADDRESS", listen(t, "tcp", "127.0.0.1:0", completing("from the environment")))
	argument := listen(t, "tcp", "127.0.0.1:0", completing("from the argument"))
	for want, client := range map[string]*outrigger.Client{
		"from the environment": newClient(t),
		"from the argument":    newClient(t, outrigger.WithAddress(argument)),
	} {
		response, err := client.Complete(t.Context(), &outrigger.Request{})
		if err != nil {
			t.Fatal(err)
		}
		check(t, "text", response.Text(), want)
	}
}

func TestAddressIsThatOfTheSidecarByDefault(t *testing.T) {
	t.Setenv("OUTRIGGER_ADDRESS", "")
	check(t, "target", newClient(t).Conn().Target(), "localhost:6190")
}

func TestAccessKeyIsSentWithEveryCall(t *testing.T) {
	t.Setenv("OUTRIGGER_ACCESS_KEY", "of-the-environment")
	var got []string
	address := listen(t, "tcp", "127.0.0.1:0", &fakeSidecar{
		complete: func(ctx context.Context, _ *pb.Request) (*pb.Response, error) {
			got = append(got, metadata.ValueFromIncomingContext(ctx, "authorization")...)
			return answer("fine"), nil
		},
	})
	for _, options := range [][]outrigger.Option{{}, {outrigger.WithAccessKey("of-the-argument")}} {
		client := newClient(t, append(options, outrigger.WithAddress(address))...)
		if _, err := client.Complete(t.Context(), &outrigger.Request{}); err != nil {
			t.Fatal(err)
		}
	}
	check(t, "authorization", strings.Join(got, ", "), "Bearer of-the-environment, Bearer of-the-argument")
}

func TestNoAccessKeyIsSentWhereThereIsNone(t *testing.T) {
	t.Setenv("OUTRIGGER_ACCESS_KEY", "")
	var got []string
	address := listen(t, "tcp", "127.0.0.1:0", &fakeSidecar{
		complete: func(ctx context.Context, _ *pb.Request) (*pb.Response, error) {
			got = metadata.ValueFromIncomingContext(ctx, "authorization")
			return answer("fine"), nil
		},
	})
	if _, err := newClient(t, outrigger.WithAddress(address)).Complete(t.Context(), &outrigger.Request{}); err != nil {
		t.Fatal(err)
	}
	check(t, "headers", len(got), 0)
}

func TestUnixSocketIsAnAddress(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sidecar.sock")
	listen(t, "unix", path, completing("over a socket"))
	response, err := newClient(t, outrigger.WithAddress("unix://"+path)).Complete(t.Context(), &outrigger.Request{})
	if err != nil {
		t.Fatal(err)
	}
	check(t, "text", response.Text(), "over a socket")
}

func TestClientReconnectsToASidecarThatWasRestarted(t *testing.T) {
	address, stop := serve(t, "tcp", "127.0.0.1:0", completing("before"))
	client := newClient(t, outrigger.WithAddress(address))
	ask := func() (string, error) {
		response, err := client.Complete(t.Context(), &outrigger.Request{})
		if err != nil {
			return "", err
		}
		return response.Text(), nil
	}
	text, _ := ask()
	check(t, "text before the restart", text, "before")
	stop()
	_, err := ask()
	check(t, "is a failure of the network", errors.Is(err, outrigger.ErrNetwork), true)
	listen(t, "tcp", address, completing("after"))
	for giveUp := time.Now().Add(promptly); err != nil && time.Now().Before(giveUp); {
		text, err = ask()
		time.Sleep(10 * time.Millisecond)
	}
	check(t, "text after the restart", text, "after")
}

// selfSigned makes a certificate for 127.0.0.1, and the pool that trusts it.
func selfSigned(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotAfter:     time.Now().Add(time.Hour),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	encoded, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(encoded)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{encoded}, PrivateKey: key}, pool
}

func TestConnectionIsEncryptedWhereTLSIsGiven(t *testing.T) {
	certificate, trusted := selfSigned(t)
	encrypted := grpc.Creds(credentials.NewServerTLSFromCert(&certificate))
	address, stop := serve(t, "tcp", "127.0.0.1:0", completing("in secret"), encrypted)
	t.Cleanup(stop)
	client := newClient(t, outrigger.WithAddress(address), outrigger.WithTLS(&tls.Config{RootCAs: trusted}))
	response, err := client.Complete(t.Context(), &outrigger.Request{})
	if err != nil {
		t.Fatal(err)
	}
	check(t, "text", response.Text(), "in secret")
	distrustful := newClient(t, outrigger.WithAddress(address), outrigger.WithTLS(&tls.Config{}))
	_, err = distrustful.Complete(t.Context(), &outrigger.Request{})
	check(t, "an unknown certificate is refused", errors.Is(err, outrigger.ErrNetwork), true)
}

func TestAddressThatCannotWorkIsRefused(t *testing.T) {
	for _, address := range []string{"http://localhost:6190", "https://sidecar", "localhost", "localhost:", "::1"} {
		_, err := outrigger.NewClient(outrigger.WithAddress(address))
		if !errors.Is(err, outrigger.ErrConfiguration) || !strings.Contains(err.Error(), address) {
			t.Errorf("%s: got %v, want an error of configuration that names the address", address, err)
		}
	}
}

func TestUserAgentNamesThePackageAndItsVersion(t *testing.T) {
	var agent string
	client := connect(t, &fakeSidecar{complete: func(ctx context.Context, _ *pb.Request) (*pb.Response, error) {
		values := metadata.ValueFromIncomingContext(ctx, "user-agent")
		agent = strings.Join(values, " ")
		return answer(""), nil
	}})
	if _, err := client.Complete(t.Context(), &outrigger.Request{}); err != nil {
		t.Fatal(err)
	}
	if want := "outrigger-go/" + outrigger.Version + " "; !strings.HasPrefix(agent, want) {
		t.Errorf("got %q, want it to begin with %q", agent, want)
	}
}

func TestMessagesMayBeAsLargeAsTheSidecarAllows(t *testing.T) {
	image := bytes.Repeat([]byte{1}, 31<<20)
	client := connect(t, &fakeSidecar{complete: func(_ context.Context, request *pb.Request) (*pb.Response, error) {
		return &pb.Response{Message: request.GetMessages()[0]}, nil
	}})
	request := &outrigger.Request{Messages: []*outrigger.Message{
		outrigger.UserMessage("What is this?", outrigger.ImagePart("image/png", image)),
	}}
	response, err := client.Complete(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	check(t, "bytes of the image", len(response.GetMessage().GetContent()[1].GetImage().GetData()), len(image))
}

func TestResponseHasTheContentByKind(t *testing.T) {
	response := &outrigger.Response{Response: &pb.Response{Message: &pb.Message{Content: []*pb.ContentPart{
		{Part: &pb.ContentPart_Reasoning{Reasoning: &pb.Reasoning{Text: "Hm."}}},
		outrigger.TextPart("It is "),
		{Part: &pb.ContentPart_ToolCall{ToolCall: &pb.ToolCall{Id: "call_1"}}},
		outrigger.TextPart("raining."),
	}}}}
	check(t, "text", response.Text(), "It is raining.")
	check(t, "reasoning", response.Reasoning(), "Hm.")
	check(t, "tool calls", len(response.ToolCalls()), 1)
	check(t, "id", response.ToolCalls()[0].GetId(), "call_1")
	check(t, "text of an empty answer", (&outrigger.Response{}).Text(), "")
}
