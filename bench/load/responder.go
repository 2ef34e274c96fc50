package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"net"
	"os"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// responder answers every call with the same messages, from memory.
type responder struct {
	message  []byte
	messages int
}

func runResponder(args []string) error {
	flags := flag.NewFlagSet("responder", flag.ExitOnError)
	listen := flags.String("listen", "", "host and port")
	path := flags.String("message", "", "file with the message of an answer")
	messages := flags.Int("messages", 1, "how many of them an answer has, each in a frame of its own")
	_ = flags.Parse(args)
	message, err := os.ReadFile(*path)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	prefix := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message)))
	server := &responder{message: append(prefix, message...), messages: *messages}
	go server.accept(listener)
	waitForClose()
	return nil
}

func (r *responder) accept(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			_ = r.serve(conn)
		}()
	}
}

// serve reads frames and answers each request that ends. It leaves the peer's headers undecoded.
func (r *responder) serve(conn net.Conn) error {
	reader := bufio.NewReader(conn)
	if _, err := reader.Discard(len(http2.ClientPreface)); err != nil {
		return err
	}
	writer := bufio.NewWriterSize(conn, 32<<10)
	framer := http2.NewFramer(writer, reader)
	framer.SetReuseFrames()
	_ = framer.WriteSettings()
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return err
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				err = framer.WriteSettingsAck()
			}
		case *http2.DataFrame:
			err = errors.Join(framer.WriteWindowUpdate(0, max(frame.Length, 1)), r.answer(framer, frame))
		}
		// Requests that arrived together are answered in one write.
		if err == nil && reader.Buffered() == 0 {
			err = writer.Flush()
		}
		if err != nil {
			return err
		}
	}
}

func (r *responder) answer(framer *http2.Framer, asked *http2.DataFrame) error {
	if !asked.StreamEnded() {
		return nil
	}
	id := asked.StreamID
	err := framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: answerHead, EndHeaders: true})
	for range r.messages {
		err = errors.Join(err, framer.WriteData(id, false, r.message))
	}
	end := http2.HeadersFrameParam{StreamID: id, BlockFragment: answerEnd, EndHeaders: true, EndStream: true}
	return errors.Join(err, framer.WriteHeaders(end))
}

var (
	answerHead = headerBlock(":status", "200", "content-type", "application/grpc")
	answerEnd  = headerBlock("grpc-status", statusOK)
)

// headerBlock encodes fields without HPACK's dynamic table, so that it can be sent repeatedly.
func headerBlock(namesAndValues ...string) []byte {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for i := 0; i < len(namesAndValues); i += 2 {
		_ = encoder.WriteField(hpack.HeaderField{Name: namesAndValues[i], Value: namesAndValues[i+1], Sensitive: true})
	}
	return block.Bytes()
}
