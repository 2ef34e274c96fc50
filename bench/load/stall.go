package main

import (
	"flag"
	"fmt"
	"sync/atomic"
	"time"
)

// stallReport has the results of the streams.
type stallReport struct {
	Streams  int   `json:"streams"`
	Messages int64 `json:"messages"`
	// Streams that ended; none should.
	Ended    int64    `json:"ended"`
	Failures []string `json:"failures"`
}

// runStall opens streams and never enlarges their windows, like a program that stops reading. It prints "stalled"
// when no more data arrives, and holds the streams until standard input closes.
func runStall(args []string) error {
	flags := flag.NewFlagSet("stall", flag.ExitOnError)
	target := flags.String("target", "", "host and port")
	method := flags.String("method", "", "path of the RPC")
	request := flags.String("request", "", "file with the message")
	streams := flags.Int("streams", 1, "streams altogether")
	count := flags.Int("connections", 1, "connections that they share")
	window := flags.Uint("window", 4096, "bytes that each stream takes before it stalls")
	timeout := flags.Duration("timeout", 2*time.Minute, "when to give up")
	_ = flags.Parse(args)
	giveUpAfter(*timeout)

	rpc, err := newGrpcCall(*target, *method, *request)
	if err != nil {
		return err
	}
	connections, err := dialAll(connectionOptions{target: *target, streamWindow: uint32(*window)}, *count)
	if err != nil {
		return err
	}
	report := stallReport{Streams: *streams, Failures: []string{}}
	var messages, ended atomic.Int64
	failures := make(chan string, failuresKept)
	for i := range *streams {
		s := &stream{started: time.Now()}
		s.onMessage = func(int, []byte) { messages.Add(1) }
		s.onEnd = func(status string) {
			ended.Add(1)
			keepFailure(failures, status)
		}
		if err := connections[i%len(connections)].open(s, rpc); err != nil {
			return err
		}
	}
	waitForSilence(&messages)
	fmt.Println("stalled")
	waitForClose()
	report.Messages, report.Ended = messages.Load(), ended.Load()
	for len(failures) > 0 {
		report.Failures = append(report.Failures, <-failures)
	}
	return printJSON(report)
}

func keepFailure(failures chan<- string, failure string) {
	select {
	case failures <- failure:
	default:
	}
}

const silence = time.Second

// waitForSilence returns when nothing was counted for a second, and something before.
func waitForSilence(counter *atomic.Int64) {
	for seen := int64(-1); ; {
		now := counter.Load()
		if now == seen && now > 0 {
			return
		}
		seen = now
		time.Sleep(silence)
	}
}
