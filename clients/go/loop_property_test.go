package outrigger_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	outrigger "github.com/outrigger-inference/outrigger/clients/go"
	pb "github.com/outrigger-inference/outrigger/clients/go/outrigger/v1"
)

// misbehaviours are what a tool may do. Each gets the number that its call has in the arguments.
var misbehaviours = []func(context.Context, int) (string, error){
	func(_ context.Context, number int) (string, error) { return fmt.Sprint(number), nil },
	func(_ context.Context, number int) (string, error) { return "", fmt.Errorf("failed %d", number) },
	func(_ context.Context, number int) (string, error) { return "", outrigger.Refuse(fmt.Sprint(number)) },
	func(context.Context, int) (string, error) { panic("misbehaved") },
	func(context.Context, int) (string, error) { runtime.Goexit(); return "", nil },
	func(ctx context.Context, number int) (string, error) {
		select {
		case <-time.After(time.Duration(rand.IntN(3)) * time.Millisecond):
			return fmt.Sprint(number), nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	},
}

type numberInput struct {
	Number int `json:"number"`
}

// Whatever tools do, each call is run once and answered once, in whatever order.
func TestEveryCallIsRunOnceAndAnsweredOnce(t *testing.T) {
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 0))
		var lock sync.Mutex
		runs := map[int]int{}
		tool := outrigger.NewTool("act", "", func(ctx context.Context, in numberInput) (string, error) {
			lock.Lock()
			runs[in.Number]++
			act := misbehaviours[(in.Number+int(seed))%len(misbehaviours)]
			lock.Unlock()
			return act(ctx, in.Number)
		})
		total := 0
		client := playing(t, func(p *peer, _ *pb.RunToolsStart) error {
			for range 1 + random.IntN(4) {
				calls := make([]*pb.ToolCall, 1+random.IntN(30))
				for i := range calls {
					calls[i] = callOf("act", fmt.Sprintf(`{"number":%d}`, total))
					total++
				}
				p.execute(calls...)
				// An output that came twice would leave out another.
				check(t, fmt.Sprintf("answered calls with seed %d", seed), len(p.outputs(len(calls))), len(calls))
				p.finishStep("")
			}
			return p.finish("done")
		})
		options := outrigger.GenerateOptions{Tools: []*outrigger.Tool{tool}, MaxParallelTools: 1 + random.IntN(8)}
		if _, err := client.Generate(t.Context(), options); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		check(t, fmt.Sprintf("calls that ran with seed %d", seed), len(runs), total)
		for number, times := range runs {
			check(t, fmt.Sprintf("runs of call %d with seed %d", number, seed), times, 1)
		}
	}
}

// A loop leaves no goroutine behind, however it ends.
func TestLoopsLeaveNoGoroutines(t *testing.T) {
	client := playing(t, func(p *peer, start *pb.RunToolsStart) error {
		p.event(startEvent(0))
		p.execute(callOf("get", "{}"), callOf("get", "{}"))
		if start.GetOptions().GetPrompt() == "fail" {
			return errors.New("the sidecar failed")
		}
		return p.waitForEnd()
	})
	tool := toolOf("get", func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() })
	loop := func(prompt string) {
		options := outrigger.GenerateOptions{Prompt: prompt, Tools: []*outrigger.Tool{tool}}
		limit := promptly
		if prompt == "time out" {
			limit = 5 * time.Millisecond
		}
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		for range client.StreamGenerate(ctx, options) {
			if prompt == "leave" {
				break
			}
		}
	}
	loop("fail") // makes the connection, which has goroutines of its own
	before := settled(0)
	const loops = 60
	for i := range loops {
		loop([]string{"leave", "fail", "time out"}[i%3])
	}
	// The transport may have started a few; a leak would be one for each third loop at least.
	if after := settled(before); after >= before+loops/3 {
		t.Errorf("%d goroutines before, %d after", before, after)
	}
}

// settled returns the number of goroutines, once it is down to an expected one or has not fallen for a while.
func settled(expected int) int {
	lowest := runtime.NumGoroutine()
	for quiet := 0; quiet < 40 && lowest > expected; quiet++ {
		time.Sleep(10 * time.Millisecond)
		if now := runtime.NumGoroutine(); now < lowest {
			lowest, quiet = now, 0
		}
	}
	return lowest
}
