package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

// The upstream replaces this text in an event by the time at which it sends the event. Both have
// the same length, so that all other bytes are known before the first call.
var clockMark = []byte("@@clock@")

// script has the upstream's answers, prepared as HTTP/1.1 bytes.
type script struct {
	answer []byte // head and body of a whole answer
	head   []byte // head of a stream
	steps  []step
}

// step is one event of a stream as an HTTP/1.1 chunk, and the positions of its clocks.
type step struct {
	chunk  []byte
	clocks []int
}

var lastChunk = []byte("0\r\n\r\n")

type scriptFile struct {
	Headers map[string]string `json:"headers"`
	Answer  string            `json:"answer"`
	Events  []string          `json:"events"`
}

func readScript(path string) (*script, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var file scriptFile
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, err
	}
	if file.Answer == "" || len(file.Events) == 0 {
		return nil, errors.New("the script has no answer or no events")
	}
	steps := make([]step, len(file.Events))
	for i, event := range file.Events {
		chunk := fmt.Appendf(nil, "%x\r\n%s\r\n", len(event), event)
		steps[i] = step{chunk: chunk, clocks: placesOf(clockMark, chunk)}
	}
	head := headOf(file.Headers)
	return &script{
		answer: fmt.Appendf(nil, "%scontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s",
			head, len(file.Answer), file.Answer),
		head:  fmt.Appendf(nil, "%scontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n", head),
		steps: steps,
	}, nil
}

func headOf(headers map[string]string) []byte {
	head := []byte("HTTP/1.1 200 OK\r\n")
	for name, value := range headers {
		head = fmt.Appendf(head, "%s: %s\r\n", name, value)
	}
	return head
}

func placesOf(mark, text []byte) []int {
	var places []int
	for from := 0; ; {
		at := bytes.Index(text[from:], mark)
		if at < 0 {
			return places
		}
		places = append(places, from+at)
		from += at + len(mark)
	}
}

// clock is the time in eight hexadecimal digits: microseconds, which wrap around after 71 minutes.
func clock() uint32 {
	return uint32(time.Now().UnixMicro())
}

const hexDigits = "0123456789abcdef"

func putClock(into []byte, value uint32) {
	for i := len(clockMark) - 1; i >= 0; i-- {
		into[i] = hexDigits[value&15]
		value >>= 4
	}
}

// parseClock reads what putClock wrote. False where it is something else.
func parseClock(text []byte) (uint32, bool) {
	if len(text) != len(clockMark) {
		return 0, false
	}
	var value uint32
	for _, char := range text {
		digit := bytes.IndexByte([]byte(hexDigits), char)
		if digit < 0 {
			return 0, false
		}
		value = value<<4 | uint32(digit)
	}
	return value, true
}
