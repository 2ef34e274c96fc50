package outrigger

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"path"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

const requestIDHeader = "x-request-id"

// CallInfo is the metadata of a call's answer. It is complete when the call has ended.
type CallInfo struct {
	mu      sync.Mutex
	headers metadata.MD
}

type callInfoKey struct{}

// WithCallInfo returns a context whose calls fill info. It is for one call at a time.
func WithCallInfo(ctx context.Context, info *CallInfo) context.Context {
	return context.WithValue(ctx, callInfoKey{}, info)
}

// WithHeaders returns a context whose calls send these headers, for instance x-request-id with an id of the
// caller's. Names are in lower case. It is metadata.AppendToOutgoingContext under another name.
func WithHeaders(ctx context.Context, headers map[string]string) context.Context {
	for name, value := range headers {
		ctx = metadata.AppendToOutgoingContext(ctx, name, value)
	}
	return ctx
}

// Headers returns the headers and trailers of the answer, by names in lower case.
func (i *CallInfo) Headers() metadata.MD {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.headers.Copy()
}

// RequestID returns the id under which the sidecar logs the call: the caller's x-request-id, or a generated one.
func (i *CallInfo) RequestID() string {
	return firstOf(i.Headers(), requestIDHeader)
}

func (i *CallInfo) set(headers metadata.MD) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.headers = headers
}

// observer fills CallInfos and writes a line to the log for each call that ended.
type observer struct {
	logger *slog.Logger
}

func (o observer) unary(
	ctx context.Context, method string, request, reply any,
	conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption,
) error {
	var header, trailer metadata.MD
	start := time.Now()
	err := invoke(ctx, method, request, reply, conn,
		append(slices.Clip(options), grpc.Header(&header), grpc.Trailer(&trailer))...)
	o.ended(ctx, method, start, metadata.Join(header, trailer), err)
	return err
}

func (o observer) stream(
	ctx context.Context, description *grpc.StreamDesc,
	conn *grpc.ClientConn, method string, open grpc.Streamer, options ...grpc.CallOption,
) (grpc.ClientStream, error) {
	start := time.Now()
	stream, err := open(ctx, description, conn, method, options...)
	if err != nil {
		o.ended(ctx, method, start, nil, err)
		return nil, err
	}
	ended := func(err error) {
		header, _ := stream.Header()
		o.ended(ctx, method, start, metadata.Join(header, stream.Trailer()), err)
	}
	return &observedStream{ClientStream: stream, ended: ended}, nil
}

// ended notes how a call ended. It logs no text of a request or an answer.
func (o observer) ended(ctx context.Context, method string, start time.Time, headers metadata.MD, err error) {
	if info, ok := ctx.Value(callInfoKey{}).(*CallInfo); ok {
		info.set(headers)
	}
	if o.logger == nil {
		return
	}
	o.logger.LogAttrs(ctx, slog.LevelDebug, "outrigger call",
		slog.String("method", path.Base(method)),
		slog.String("code", status.Code(err).String()),
		slog.Duration("duration", time.Since(start)),
		slog.String("request_id", firstOf(headers, requestIDHeader)))
}

// observedStream reports the end of a stream once.
type observedStream struct {
	grpc.ClientStream
	once  sync.Once
	ended func(error)
}

// RecvMsg implements grpc.ClientStream.
func (s *observedStream) RecvMsg(message any) error {
	err := s.ClientStream.RecvMsg(message)
	if err != nil {
		s.once.Do(func() {
			if errors.Is(err, io.EOF) {
				s.ended(nil)
			} else {
				s.ended(err)
			}
		})
	}
	return err
}

func firstOf(headers metadata.MD, name string) string {
	if values := headers.Get(name); len(values) > 0 {
		return values[0]
	}
	return ""
}
