package outrigger

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	pb "github.com/outrigger-inference/outrigger/clients/go/outrigger/v1"
)

// DefaultAddress is where a Client finds the sidecar when neither WithAddress nor the environment
// variable OUTRIGGER_ADDRESS says otherwise.
const DefaultAddress = "localhost:6190"

const (
	// The sidecar's own limit for a message.
	maxMessageBytes = 32 << 20
	// Requests over the sidecar's limit should reach it, since its error names the limit.
	maxSendBytes = maxMessageBytes + 1<<20
	// An answer is already paid for when it arrives, and a GenerateResult holds that of the last step twice.
	maxReceiveBytes = 4 * maxMessageBytes
)

// Client calls one sidecar. It is safe for concurrent use and holds one connection, which is made
// with the first call and again when it breaks: a program needs one Client for its lifetime.
type Client struct {
	conn       *grpc.ClientConn
	inference  pb.InferenceServiceClient
	generation pb.GenerationServiceClient
	catalog    pb.CatalogServiceClient
	embeddings pb.EmbeddingServiceClient
	hideErrors bool
}

// Option configures a Client.
type Option func(*settings)

type settings struct {
	address   string
	accessKey string
	tls       *tls.Config
	logger    *slog.Logger
	// hideErrors says whether errors of tools are hidden from models.
	hideErrors bool
	dial       []grpc.DialOption
}

// WithAddress sets the sidecar's address: host:port, or unix:///path for a Unix socket.
func WithAddress(address string) Option {
	return func(s *settings) { s.address = address }
}

// WithAccessKey sets the key for a sidecar that asks its callers for one. Without it the environment
// variable OUTRIGGER_ACCESS_KEY is used, if it is set. Without TLS the key travels in the clear.
func WithAccessKey(key string) Option {
	return func(s *settings) { s.accessKey = key }
}

// WithTLS encrypts the connection. Without it the connection is plaintext, which is right for a
// sidecar that shares the loopback interface of its pod.
func WithTLS(config *tls.Config) Option {
	return func(s *settings) { s.tls = config }
}

// WithLogger writes a line for each call that ended, at the level debug: its method, code, duration and request
// id, and no text of it. Without it nothing is logged.
func WithLogger(logger *slog.Logger) Option {
	return func(s *settings) { s.logger = logger }
}

// WithHiddenToolErrors sends models "the tool failed" instead of the text of a tool's error, which may hold
// addresses, paths or data of others. What Refuse says is sent all the same, and what is wrong with arguments.
// Tool.HideErrors overrides it for one tool.
func WithHiddenToolErrors() Option {
	return func(s *settings) { s.hideErrors = true }
}

// WithDialOptions adds options of gRPC, for instance interceptors or a stats handler. They override
// those that NewClient sets itself.
func WithDialOptions(options ...grpc.DialOption) Option {
	return func(s *settings) { s.dial = append(s.dial, options...) }
}

// NewClient makes a Client. It does not connect yet, so if no sidecar is
// listening, the first call fails with ErrNetwork.
func NewClient(options ...Option) (*Client, error) {
	s := settings{address: os.Getenv("OUTRIGGER_ADDRESS"), accessKey: os.Getenv("OUTRIGGER_ACCESS_KEY")}
	for _, option := range options {
		option(&s)
	}
	if s.address == "" {
		s.address = DefaultAddress
	}
	if err := checkAddress(s.address); err != nil {
		return nil, err
	}
	conn, err := grpc.NewClient(s.address, s.dialOptions()...)
	if err != nil {
		return nil, &Error{Kind: ErrConfiguration, Message: fmt.Sprintf("address %q: %v", s.address, err), cause: err}
	}
	return &Client{
		conn:       conn,
		inference:  pb.NewInferenceServiceClient(conn),
		generation: pb.NewGenerationServiceClient(conn),
		catalog:    pb.NewCatalogServiceClient(conn),
		embeddings: pb.NewEmbeddingServiceClient(conn),
		hideErrors: s.hideErrors,
	}, nil
}

// checkAddress refuses what gRPC would accept and then never reach: a URL, and a host without a port.
func checkAddress(address string) error {
	scheme, _, hasScheme := strings.Cut(address, "://")
	isURL := hasScheme && (scheme == "http" || scheme == "https")
	isTarget := hasScheme && !isURL || strings.HasPrefix(address, "unix:") || strings.HasPrefix(address, "dns:")
	if isTarget {
		return nil
	}
	if _, port, err := net.SplitHostPort(address); isURL || err != nil || port == "" {
		message := fmt.Sprintf("address: expected host:port or unix:///path, found %q", address)
		return &Error{Kind: ErrConfiguration, Message: message}
	}
	return nil
}

func (s *settings) dialOptions() []grpc.DialOption {
	transport := insecure.NewCredentials()
	if s.tls != nil {
		transport = credentials.NewTLS(s.tls)
	}
	observed := observer{s.logger}
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		grpc.WithUserAgent("outrigger-go/" + Version),
		grpc.WithDefaultCallOptions(
			grpc.MaxCallSendMsgSize(maxSendBytes),
			grpc.MaxCallRecvMsgSize(maxReceiveBytes),
		),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{
				BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: maxReconnectDelay,
			},
			MinConnectTimeout: 5 * time.Second,
		}),
		grpc.WithChainUnaryInterceptor(observed.unary, retryUnsent),
		grpc.WithChainStreamInterceptor(observed.stream, retryUnopened),
	}
	if s.accessKey != "" {
		options = append(options, grpc.WithPerRPCCredentials(accessKey(s.accessKey)))
	}
	return append(options, s.dial...)
}

// accessKey sends itself with every call.
type accessKey string

func (k accessKey) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(k)}, nil
}

// RequireTransportSecurity is false: a sidecar on the same machine needs no TLS.
func (k accessKey) RequireTransportSecurity() bool { return false }

// Conn returns the connection, for stubs of other services, for instance health.
func (c *Client) Conn() *grpc.ClientConn {
	return c.conn
}

// Close closes the connection. Calls in flight fail.
func (c *Client) Close() error {
	return c.conn.Close()
}

// Complete calls a model once and returns its whole answer. It neither retries nor runs tools;
// Generate does.
func (c *Client) Complete(ctx context.Context, request *Request) (*Response, error) {
	response, err := c.inference.Complete(ctx, request)
	if err != nil {
		return nil, errorOf(ctx, err)
	}
	return &Response{response}, nil
}
