package outrigger

import (
	"context"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

const (
	// maxReconnectDelay bounds the time between two attempts to connect. gRPC would wait for up to two
	// minutes; a sidecar is on the same machine, where an attempt costs next to nothing.
	maxReconnectDelay = 500 * time.Millisecond
	// reconnectTimeout bounds how long a call that found no sidecar waits for one.
	reconnectTimeout = 500 * time.Millisecond
)

// errClosed becomes an ErrConfiguration.
var errClosed = status.Error(codes.FailedPrecondition, "the client is closed")

// retryUnsent makes a call once more if it was never sent and a connection comes up in time.
func retryUnsent(
	ctx context.Context, method string, request, reply any,
	conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption,
) error {
	attempt := func() (isUnsent bool, err error) {
		var sidecar peer.Peer
		err = invoke(ctx, method, request, reply, conn, append(slices.Clip(options), grpc.Peer(&sidecar))...)
		return sidecar.Addr == nil && status.Code(err) == codes.Unavailable, err
	}
	if conn.GetState() == connectivity.Shutdown {
		return errClosed
	}
	isUnsent, err := attempt()
	if isUnsent && reconnect(ctx, conn) {
		isUnsent, err = attempt()
	}
	if isUnsent {
		return unreachable(conn, err)
	}
	return err
}

// retryUnopened is retryUnsent for streams. A stream that cannot be opened has sent nothing.
func retryUnopened(
	ctx context.Context, description *grpc.StreamDesc,
	conn *grpc.ClientConn, method string, open grpc.Streamer, options ...grpc.CallOption,
) (grpc.ClientStream, error) {
	if conn.GetState() == connectivity.Shutdown {
		return nil, errClosed
	}
	stream, err := open(ctx, description, conn, method, options...)
	if status.Code(err) == codes.Unavailable && reconnect(ctx, conn) {
		stream, err = open(ctx, description, conn, method, options...)
	}
	if status.Code(err) == codes.Unavailable {
		return nil, unreachable(conn, err)
	}
	return stream, err
}

// reconnect connects at once, and reports whether a connection came up in time.
func reconnect(ctx context.Context, conn *grpc.ClientConn) bool {
	ctx, cancel := context.WithTimeout(ctx, reconnectTimeout)
	defer cancel()
	conn.ResetConnectBackoff()
	conn.Connect()
	for state := conn.GetState(); state != connectivity.Ready; state = conn.GetState() {
		if state == connectivity.Shutdown || !conn.WaitForStateChange(ctx, state) {
			return false
		}
		if state == connectivity.Idle {
			conn.Connect()
		}
	}
	return true
}

// unreachable adds the address to the failure of a call that found no sidecar.
func unreachable(conn *grpc.ClientConn, err error) error {
	message := fmt.Sprintf("%s; is the sidecar running at %s?", status.Convert(err).Message(), conn.Target())
	return status.Error(codes.Unavailable, message)
}
