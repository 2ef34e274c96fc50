package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"sync"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// connectionOptions configures an HTTP/2 connection.
type connectionOptions struct {
	target string
	// Flow-control window of each stream. It is never enlarged, so a small one stalls its stream.
	streamWindow uint32
}

const (
	// Larger than any answer.
	ampleWindow = 1 << 30
	// The connection's window is replenished when this much of it is used.
	windowStep = 1 << 28
)

// connection is a minimal HTTP/2 client connection for gRPC calls.
type connection struct {
	conn net.Conn

	writing sync.Mutex
	writer  *bufio.Writer
	framer  *http2.Framer
	block   bytes.Buffer
	encoder *hpack.Encoder
	nextID  uint32

	mutex   sync.Mutex
	streams map[uint32]*stream
	failure error

	// Owned by the reading goroutine until it has stopped.
	stopped chan struct{}
	decoder *hpack.Decoder
	status  string
	used    int
	tally   tally
}

func dial(options connectionOptions) (*connection, error) {
	conn, err := net.Dial("tcp", options.target)
	if err != nil {
		return nil, err
	}
	c := &connection{conn: conn, nextID: 1, streams: map[uint32]*stream{}, stopped: make(chan struct{})}
	c.writer = bufio.NewWriterSize(conn, 32<<10)
	c.framer = http2.NewFramer(c.writer, bufio.NewReaderSize(conn, 64<<10))
	c.framer.SetReuseFrames()
	c.encoder = hpack.NewEncoder(&c.block)
	c.decoder = hpack.NewDecoder(4096, func(field hpack.HeaderField) {
		if field.Name == "grpc-status" {
			c.status = field.Value
		}
	})
	if err := c.greet(options.streamWindow); err != nil {
		conn.Close()
		return nil, err
	}
	go c.read()
	return c, nil
}

func (c *connection) greet(streamWindow uint32) error {
	_, _ = c.writer.WriteString(http2.ClientPreface)
	return errors.Join(
		c.framer.WriteSettings(
			http2.Setting{ID: http2.SettingInitialWindowSize, Val: streamWindow},
			http2.Setting{ID: http2.SettingEnablePush, Val: 0},
		),
		c.framer.WriteWindowUpdate(0, ampleWindow),
		c.writer.Flush(),
	)
}

// open sends a call: its headers and its one message. The connection passes what it receives to the stream.
func (c *connection) open(s *stream, call *grpcCall) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	s.id = c.nextID
	c.nextID += 2
	if err := c.add(s); err != nil {
		return err
	}
	c.block.Reset()
	for _, field := range call.headers {
		_ = c.encoder.WriteField(field)
	}
	head := http2.HeadersFrameParam{StreamID: s.id, BlockFragment: c.block.Bytes(), EndHeaders: true}
	return errors.Join(
		c.framer.WriteHeaders(head),
		c.framer.WriteData(s.id, true, call.message),
		c.writer.Flush(),
	)
}

// cancel resets streams, all in one write, and returns how many of them were still open.
func (c *connection) cancel(streams []*stream) (int, error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	var err error
	open := 0
	for _, s := range streams {
		if c.finish(s.id, "cancelled") {
			open++
			err = errors.Join(err, c.framer.WriteRSTStream(s.id, http2.ErrCodeCancel))
		}
	}
	return open, errors.Join(err, c.writer.Flush())
}

// failed reports whether the connection is unusable.
func (c *connection) failed() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.failure != nil
}

// close ends the connection, and returns its tally.
func (c *connection) close() *tally {
	c.conn.Close()
	<-c.stopped
	return &c.tally
}

func (c *connection) add(s *stream) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.failure != nil {
		return c.failure
	}
	c.streams[s.id] = s
	return nil
}

func (c *connection) find(id uint32) *stream {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.streams[id]
}

// finish ends a stream once. It returns false where it had already ended.
func (c *connection) finish(id uint32, status string) bool {
	c.mutex.Lock()
	s := c.streams[id]
	delete(c.streams, id)
	c.mutex.Unlock()
	if s != nil {
		s.onEnd(status)
	}
	return s != nil
}

// fail ends all streams of a connection that broke.
func (c *connection) fail(err error) {
	c.mutex.Lock()
	c.failure = err
	open := c.streams
	c.streams = map[uint32]*stream{}
	c.mutex.Unlock()
	c.conn.Close()
	for _, s := range open {
		s.onEnd(fmt.Sprintf("connection lost: %v", err))
	}
}

func (c *connection) read() {
	defer close(c.stopped)
	for {
		frame, err := c.framer.ReadFrame()
		if err == nil {
			err = c.take(frame)
		}
		if err != nil {
			c.fail(err)
			return
		}
	}
}

func (c *connection) take(frame http2.Frame) error {
	switch frame := frame.(type) {
	case *http2.DataFrame:
		return c.takeData(frame)
	case *http2.HeadersFrame:
		return c.takeHeaders(frame)
	case *http2.RSTStreamFrame:
		c.finish(frame.StreamID, "reset: "+frame.ErrCode.String())
	case *http2.SettingsFrame:
		if !frame.IsAck() {
			return c.answer(c.framer.WriteSettingsAck)
		}
	case *http2.PingFrame:
		if !frame.IsAck() {
			return c.answer(func() error { return c.framer.WritePing(true, frame.Data) })
		}
	case *http2.GoAwayFrame:
		if frame.ErrCode != http2.ErrCodeNo {
			return fmt.Errorf("GOAWAY with %v", frame.ErrCode)
		}
	}
	return nil
}

func (c *connection) takeData(frame *http2.DataFrame) error {
	c.used += int(frame.Length)
	if s := c.find(frame.StreamID); s != nil {
		s.take(frame.Data(), &c.tally)
	}
	if frame.StreamEnded() {
		c.finish(frame.StreamID, "ended without trailers")
	}
	if c.used < windowStep {
		return nil
	}
	grant := uint32(c.used)
	c.used = 0
	return c.answer(func() error { return c.framer.WriteWindowUpdate(0, grant) })
}

func (c *connection) takeHeaders(frame *http2.HeadersFrame) error {
	if !frame.HeadersEnded() {
		return errors.New("headers in several frames")
	}
	c.status = "no grpc-status"
	if _, err := c.decoder.Write(frame.HeaderBlockFragment()); err != nil {
		return err
	}
	if err := c.decoder.Close(); err != nil {
		return err
	}
	if frame.StreamEnded() {
		c.finish(frame.StreamID, c.status)
	}
	return nil
}

func (c *connection) answer(write func() error) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	return errors.Join(write(), c.writer.Flush())
}
