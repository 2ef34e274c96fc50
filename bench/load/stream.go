package main

import (
	"encoding/binary"
	"os"
	"time"

	"golang.org/x/net/http2/hpack"
)

// grpcCall is the request of every stream of a run.
type grpcCall struct {
	headers []hpack.HeaderField
	message []byte // with its prefix
}

// newGrpcCall reads the message from a file.
func newGrpcCall(target, method, path string) (*grpcCall, error) {
	request, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	message := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(request)))
	return &grpcCall{
		message: append(message, request...),
		headers: []hpack.HeaderField{
			{Name: ":method", Value: "POST"},
			{Name: ":scheme", Value: "http"},
			{Name: ":path", Value: method},
			{Name: ":authority", Value: target},
			{Name: "te", Value: "trailers"},
			{Name: "content-type", Value: "application/grpc"},
			{Name: "user-agent", Value: "outrigger-bench"},
		},
	}, nil
}

const statusOK = "0"

// stream is one call in progress.
type stream struct {
	id      uint32
	started time.Time
	cutter  messageCutter
	// Called for each message and for the end, by the reader of the connection.
	onMessage func(length int, head []byte)
	onEnd     func(status string)

	messages int
	gaps     int // messages of which the sequence is not the expected one
}

// take reads the messages of a frame, and records when they arrived.
func (s *stream) take(data []byte, tally *tally) {
	tally.Frames++
	s.cutter.push(data, func(length int, head []byte) {
		if s.messages == 0 {
			tally.first.add(time.Since(s.started))
		}
		found := readEvent(head)
		if found.sequence != uint64(s.messages) {
			s.gaps++
		}
		s.messages++
		tally.Messages++
		if sent, ok := parseClock(found.delta); ok {
			tally.event.add(sinceClock(sent))
		}
		if s.onMessage != nil {
			s.onMessage(length, head)
		}
	})
}

func sinceClock(sent uint32) time.Duration {
	return time.Duration(int32(clock()-sent)) * time.Microsecond
}
