package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
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
	rpc, err := newGrpcCall(f.target, f.method, f.request)
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

// directCaller calls the upstream directly, over a connection of its own.
type directCaller struct {
	conn    net.Conn
	reader  *bufio.Reader
	request []byte
	chunk   []byte
	tally   tally
}

func openDirectCallers(f *callFlags) ([]caller, func() []*tally, error) {
	body, err := os.ReadFile(f.request)
	if err != nil {
		return nil, nil, err
	}
	request := fmt.Appendf(nil, "POST /v1/responses HTTP/1.1\r\nhost: %s\r\ncontent-length: %d\r\n\r\n%s",
		f.target, len(body), body)
	direct := make([]*directCaller, f.concurrency)
	callers := make([]caller, f.concurrency)
	for i := range callers {
		conn, err := net.Dial("tcp", f.target)
		if err != nil {
			return nil, nil, err
		}
		direct[i] = &directCaller{conn: conn, reader: bufio.NewReaderSize(conn, 16<<10), request: request}
		callers[i] = direct[i]
	}
	return callers, func() []*tally { return closeDirect(direct) }, nil
}

func closeDirect(callers []*directCaller) []*tally {
	tallies := make([]*tally, len(callers))
	for i, c := range callers {
		c.conn.Close()
		tallies[i] = &c.tally
	}
	return tallies
}

func (c *directCaller) call() string {
	started := time.Now()
	if _, err := c.conn.Write(c.request); err != nil {
		return err.Error()
	}
	length, err := readHead(c.reader)
	if err != nil {
		return err.Error()
	}
	if length >= 0 {
		c.tally.Messages++
		_, err = io.CopyN(io.Discard, c.reader, int64(length))
	} else {
		err = c.readStream(started)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

func (c *directCaller) readStream(started time.Time) error {
	for first := true; ; first = false {
		chunk, err := readChunk(c.reader, c.chunk)
		if err != nil || len(chunk) == 0 {
			return err
		}
		if first {
			c.tally.first.add(time.Since(started))
		}
		c.chunk = chunk
		c.tally.Frames++
		c.tally.Messages++
		if sent, ok := clockIn(chunk); ok {
			c.tally.event.add(sinceClock(sent))
		}
	}
}

var deltaStart = []byte(`"delta":"`)

func clockIn(chunk []byte) (uint32, bool) {
	at := bytes.Index(chunk, deltaStart)
	if at < 0 || len(chunk) < at+len(deltaStart)+len(clockMark) {
		return 0, false
	}
	start := at + len(deltaStart)
	return parseClock(chunk[start : start+len(clockMark)])
}
