package main

import (
	"flag"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// caller makes calls sequentially. An empty failure means success.
type caller interface {
	call() (failure string)
}

type callFlags struct {
	target      string
	protocol    string
	path        string
	request     string
	calls       int
	concurrency int
	connections int
	messages    int
	headers     []string
	rate        float64
	ramp        time.Duration
	duration    time.Duration
}

// runCalls makes calls with a number of workers, each of which makes one at a time.
func runCalls(args []string) error {
	var f callFlags
	flags := flag.NewFlagSet("call", flag.ExitOnError)
	flags.StringVar(&f.target, "target", "", "host and port")
	flags.StringVar(&f.protocol, "protocol", "grpc", "grpc, connect+json, connect+proto, sse, or direct: the upstream's own")
	flags.StringVar(&f.path, "path", "", "path of the RPC, or of the upstream")
	flags.StringVar(&f.request, "request", "", "file with the message, or the body")
	flags.IntVar(&f.calls, "calls", 1, "calls altogether")
	flags.IntVar(&f.concurrency, "concurrency", 1, "calls at once")
	flags.IntVar(&f.connections, "connections", 1, "connections of HTTP/2 that they share")
	flags.IntVar(&f.messages, "messages", 0, "messages that a whole answer has; 0 for any number")
	flags.Func("header", "further header of calls over HTTP/1.1, as name: value; may be repeated", func(header string) error {
		f.headers = append(f.headers, header)
		return nil
	})
	flags.Float64Var(&f.rate, "rate", 0, "calls per second at the most; 0 for as many as go")
	flags.DurationVar(&f.ramp, "ramp", 0, "time over which the workers begin")
	flags.DurationVar(&f.duration, "duration", 0, "time after which no further call begins; 0 for no limit")
	timeout := flags.Duration("timeout", 2*time.Minute, "when to give up")
	_ = flags.Parse(args)
	giveUpAfter(*timeout)

	callers, closeAll, err := openCallers(&f)
	if err != nil {
		return err
	}
	total := &tally{}
	took := f.run(callers, total)
	for _, part := range closeAll() {
		total.merge(part)
	}
	return printJSON(total.report(took))
}

// giveUpAfter ends the process when its peer does not answer.
func giveUpAfter(limit time.Duration) {
	time.AfterFunc(limit, func() {
		fmt.Fprintln(os.Stderr, "gave up after", limit)
		os.Exit(1)
	})
}

// run distributes the calls over the callers, and returns how long all of them took.
func (f *callFlags) run(callers []caller, total *tally) time.Duration {
	var next atomic.Int64
	var mutex sync.Mutex
	var workers sync.WaitGroup
	started := time.Now()
	for i, caller := range callers {
		workers.Go(func() {
			var own tally
			time.Sleep(f.ramp * time.Duration(i) / time.Duration(len(callers)))
			for turn := next.Add(1) - 1; turn < int64(f.calls); turn = next.Add(1) - 1 {
				f.waitForTurn(started, turn)
				if f.duration > 0 && time.Since(started) >= f.duration {
					break
				}
				began := time.Now()
				failure := caller.call()
				own.addCall(time.Since(began), failure)
			}
			mutex.Lock()
			defer mutex.Unlock()
			total.merge(&own)
		})
	}
	workers.Wait()
	return time.Since(started)
}

func (f *callFlags) waitForTurn(started time.Time, turn int64) {
	if f.rate > 0 {
		time.Sleep(time.Until(started.Add(time.Duration(float64(turn) / f.rate * float64(time.Second)))))
	}
}

// openCallers creates one caller per worker, and a function that closes them and returns their tallies.
func openCallers(f *callFlags) ([]caller, func() []*tally, error) {
	if f.protocol == "grpc" {
		return openGrpcCallers(f)
	}
	return openHTTP1Callers(f)
}
