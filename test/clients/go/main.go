// Command outrigger-client calls a sidecar the way a Go service would and checks what comes back.
// Every check is a function that can be read, and copied, on its own.
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
}

func main() {
	// The sidecar shares the pod's loopback, so no TLS is needed.
	connection, err := grpc.NewClient(
		os.Getenv("OUTRIGGER_ADDR"),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessageBytes)),
	)
	if err != nil {
		fmt.Fprintln(os.Stderr, "OUTRIGGER_ADDR must be host:port:", err)
		os.Exit(2)
	}
	defer connection.Close()

	if !runChecks(sidecar{
		inference: pb.NewInferenceServiceClient(connection),
		health:    healthpb.NewHealthClient(connection),
	}) {
		os.Exit(1)
	}
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
