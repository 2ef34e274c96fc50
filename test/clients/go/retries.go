package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	pb "example.com/outrigger-client/build/outrigger/v1"
)

// retryPolicy lets gRPC repeat calls that failed before their first message. The sidecar says in the
// trailer grpc-retry-pushback-ms when to repeat one, or that repeating it cannot help.
const retryPolicy = `{"methodConfig": [{
	"name": [{"service": "outrigger.v1.InferenceService"}],
	"retryPolicy": {
		"maxAttempts": 4, "initialBackoff": "0.01s", "maxBackoff": "0.05s", "backoffMultiplier": 2,
		"retryableStatusCodes": ["UNAVAILABLE", "RESOURCE_EXHAUSTED"]
	}
}]}`

func checkRetryPolicy(ctx context.Context, to sidecar) error {
	if _, err := to.retrying.Complete(ctx, askFailing("status=500,times=2")); err != nil {
		return fmt.Errorf("the third attempt of Complete should succeed: %w", err)
	}
	stream, err := to.retrying.Stream(ctx, askFailing("status=500,times=2"))
	if err != nil {
		return err
	}
	events, err := receiveAll(stream)
	if err != nil {
		return fmt.Errorf("the third attempt of Stream should succeed: %w", err)
	}
	return checkOrder(events)
}

func checkRetryPushback(ctx context.Context, to sidecar) error {
	const wait = 400 * time.Millisecond
	started := time.Now()
	request := askFailing(fmt.Sprintf("status=429,retry_after_ms=%d,times=1", wait.Milliseconds()))
	if _, err := to.retrying.Complete(ctx, request); err != nil {
		return fmt.Errorf("the second attempt should succeed: %w", err)
	}
	if waited := time.Since(started); waited < wait {
		return fmt.Errorf("repeated after %v, but the provider asked for %v", waited, wait)
	}
	return nil
}

func checkRetryRefused(ctx context.Context, to sidecar) error {
	var trailer metadata.MD
	request := askFailing("status=429,code=insufficient_quota,times=1")
	_, err := to.retrying.Complete(ctx, request, grpc.Trailer(&trailer))
	if err == nil {
		return errors.New("the call was repeated, though the provider's quota is used up")
	}
	pushback := trailer.Get("grpc-retry-pushback-ms")
	if status.Code(err) != codes.ResourceExhausted || len(pushback) != 1 || pushback[0] != "-1" {
		return fmt.Errorf("want RESOURCE_EXHAUSTED with pushback -1, got %v: %w", pushback, err)
	}
	return nil
}

// askFailing makes a request that fails as the simulator's options say. The simulator counts `times` by
// model string, so a speed that no other request has makes the string unique.
func askFailing(faults string) *pb.Request {
	speed := strconv.Itoa(100_000 + rand.IntN(900_000))
	return &pb.Request{
		Model:    "sim-text:" + faults + ",rate=" + speed,
		Messages: []*pb.Message{textMessage(pb.Role_ROLE_USER, "Say hello.")},
	}
}
