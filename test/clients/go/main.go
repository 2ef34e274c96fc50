// Command outrigger-client calls a sidecar the way a Go service would and checks what comes back.
// Every check is a function that can be read, and copied, alone.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	pb "example.com/outrigger-client/build/outrigger/v1"
)

// Messages can contain images, for which gRPC's default limit of 4 MiB is too small; this is the
// sidecar's default.
const maxMessageBytes = 32 << 20

// Every call gets a deadline. The sidecar applies it to the provider call.
const callTimeout = 20 * time.Second

type sidecar struct {
	inference pb.InferenceServiceClient
	retrying  pb.InferenceServiceClient // repeats calls as retryPolicy says
	health    healthpb.HealthClient
}

var checks = []struct {
	name string
	run  func(context.Context, sidecar) error
}{
	{"health", checkHealth},
	{"complete", checkComplete},
	{"stream", checkStream},
	{"tool_round_trip", checkToolRoundTrip},
	{"error_details", checkErrorDetails},
	{"validation_error", checkValidationError},
	{"mid_stream_error", checkMidStreamError},
	{"deadline", checkDeadline},
	{"cancellation", checkCancellation},
	{"retry_policy", checkRetryPolicy},
	{"retry_pushback", checkRetryPushback},
	{"retry_refused", checkRetryRefused},
	{"tls", checkTLS},
}

func main() {
	plain := connect()
	defer plain.Close()
	retrying := connect(grpc.WithDefaultServiceConfig(retryPolicy))
	defer retrying.Close()

	if !runChecks(sidecar{
		inference: pb.NewInferenceServiceClient(plain),
		retrying:  pb.NewInferenceServiceClient(retrying),
		health:    healthpb.NewHealthClient(plain),
	}) {
		os.Exit(1)
	}
}

// connect opens a connection, which is safe to share: a service keeps one for its lifetime.
func connect(options ...grpc.DialOption) *grpc.ClientConn {
	options = append(options,
		// The sidecar shares the pod's loopback, so no TLS is needed.
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessageBytes)),
	)
	connection, err := grpc.NewClient(os.Getenv("OUTRIGGER_ADDR"), options...)
	if err != nil {
		fmt.Fprintln(os.Stderr, "OUTRIGGER_ADDR must be host:port:", err)
		os.Exit(2)
	}
	return connection
}

func runChecks(to sidecar) bool {
	passed := true
	for _, check := range checks {
		ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
		err := check.run(ctx, to)
		cancel()
		if err != nil {
			passed = false
			fmt.Printf("FAIL %s: %v\n", check.name, err)
			continue
		}
		fmt.Printf("ok %s\n", check.name)
	}
	return passed
}
