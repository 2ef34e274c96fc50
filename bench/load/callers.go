package main

import (
	"fmt"
	"time"
)

// grpcCaller makes calls over a connection that it shares with other callers.
type grpcCaller struct {
	connection *connection
	rpc        *grpcCall
	messages   int
	ended      chan string
}

func openGrpcCallers(f *callFlags) ([]caller, func() []*tally, error) {
	rpc, err := newGrpcCall(f.target, f.path, f.request)
	if err != nil {
		return nil, nil, err
	}
	connections, err := dialAll(connectionOptions{target: f.target, streamWindow: ampleWindow}, f.connections)
	if err != nil {
		return nil, nil, err
	}
	callers := make([]caller, f.concurrency)
	for i := range callers {
		shared := connections[i%len(connections)]
		callers[i] = &grpcCaller{connection: shared, rpc: rpc, messages: f.messages, ended: make(chan string, 1)}
	}
	return callers, func() []*tally { return closeAll(connections) }, nil
}

func dialAll(options connectionOptions, count int) ([]*connection, error) {
	connections := make([]*connection, count)
	for i := range connections {
		var err error
		if connections[i], err = dial(options); err != nil {
			return nil, err
		}
	}
	return connections, nil
}

func closeAll(connections []*connection) []*tally {
	tallies := make([]*tally, len(connections))
	for i, c := range connections {
		tallies[i] = c.close()
	}
	return tallies
}

func (c *grpcCaller) call() string {
	s := &stream{started: time.Now(), onEnd: func(status string) { c.ended <- status }}
	if err := c.connection.open(s, c.rpc); err != nil {
		return err.Error()
	}
	return failureOf(s, <-c.ended, c.messages)
}

// failureOf describes what is wrong with a call that ended; empty for success.
func failureOf(s *stream, status string, messages int) string {
	switch {
	case status != statusOK:
		return "status " + status
	case messages > 0 && s.messages != messages:
		return fmt.Sprintf("%d messages instead of %d", s.messages, messages)
	case messages > 1 && s.gaps > 0:
		return "messages out of sequence"
	}
	return ""
}
