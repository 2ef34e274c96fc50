package main

import (
	"bufio"
	"bytes"
	"flag"
	"net"
	"time"
)

// upstream simulates the provider. It reads no more of a request than HTTP requires.
type upstream struct {
	script   *script
	interval time.Duration
	whole    bool
}

func runUpstream(args []string) error {
	flags := flag.NewFlagSet("upstream", flag.ExitOnError)
	path := flags.String("script", "", "file with the answers")
	listen := flags.String("listen", "", "host and port")
	interval := flags.Duration("interval", 0, "pause between two events of a stream")
	whole := flags.Bool("whole", false, "write all events of a stream at once")
	_ = flags.Parse(args)
	script, err := readScript(*path)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	server := &upstream{script: script, interval: *interval, whole: *whole}
	go server.accept(listener)
	waitForClose()
	return nil
}

func (u *upstream) accept(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go u.serve(conn)
	}
}

// serve answers the requests of one connection until the peer closes it.
func (u *upstream) serve(conn net.Conn) {
	defer conn.Close()
	// A small buffer, so that a stalled reader blocks the writer soon instead of after megabytes in the kernel.
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(sendBufferBytes)
	}
	reader := bufio.NewReaderSize(conn, 16<<10)
	writer := &streamWriter{conn: conn, script: u.script}
	var body []byte
	for {
		var err error
		if body, err = readRequest(reader, body); err != nil {
			return
		}
		if bytes.Contains(body, streaming) {
			err = u.stream(writer)
		} else {
			_, err = conn.Write(u.script.answer)
		}
		if err != nil {
			return
		}
	}
}

const sendBufferBytes = 64 << 10

var streaming = []byte(`"stream":true`)

func (u *upstream) stream(writer *streamWriter) error {
	writer.begin()
	if u.whole {
		return writer.writeWhole()
	}
	if u.interval > 0 {
		return u.streamPaced(writer)
	}
	for i := range u.script.steps {
		if err := writer.writeStep(i); err != nil {
			return err
		}
	}
	return writer.end()
}

// streamPaced sends events on a fixed schedule: a late one does not delay the following ones.
func (u *upstream) streamPaced(writer *streamWriter) error {
	due := time.Now()
	for i := range u.script.steps {
		time.Sleep(time.Until(due))
		if err := writer.writeStep(i); err != nil {
			return err
		}
		due = due.Add(u.interval)
	}
	return writer.end()
}

// streamWriter writes one stream after another to a connection, each event in a write of its own.
type streamWriter struct {
	conn   net.Conn
	script *script
	clocks []uint32
	buffer []byte
}

func (w *streamWriter) begin() {
	w.clocks = w.clocks[:0]
	w.buffer = append(w.buffer[:0], w.script.head...)
}

// writeStep writes one event. The head of the answer is sent with the first.
func (w *streamWriter) writeStep(i int) error {
	w.append(i)
	return w.flush()
}

func (w *streamWriter) writeWhole() error {
	for i := range w.script.steps {
		w.append(i)
	}
	return w.end()
}

func (w *streamWriter) end() error {
	w.buffer = append(w.buffer, lastChunk...)
	return w.flush()
}

// append adds an event to the pending bytes: the clock of a delta is set to the current time, and an event with
// many clocks repeats those of the deltas before it.
func (w *streamWriter) append(i int) {
	step := &w.script.steps[i]
	start := len(w.buffer)
	w.buffer = append(w.buffer, step.chunk...)
	if len(step.clocks) == 1 {
		w.clocks = append(w.clocks, clock())
		putClock(w.buffer[start+step.clocks[0]:], w.clocks[len(w.clocks)-1])
		return
	}
	for k, at := range step.clocks {
		putClock(w.buffer[start+at:], w.clocks[k])
	}
}

func (w *streamWriter) flush() error {
	_, err := w.conn.Write(w.buffer)
	w.buffer = w.buffer[:0]
	return err
}
