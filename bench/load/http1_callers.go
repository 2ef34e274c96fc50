package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// protocol is how the calls over HTTP/1.1 write a request and read what comes back.
type protocol struct {
	contentType string
	accept      string
	enveloped   bool
	// newReader makes what reads the body of one answer.
	newReader func(http1Call) bodyReader
}

// bodyReader reads the body of an answer, chunk by chunk.
type bodyReader interface {
	push(chunk []byte)
	// end returns what is wrong with the answer once its body is complete; empty for success.
	end() string
}

var protocols = map[string]protocol{
	"direct":        {contentType: "application/json", newReader: newProviderReader},
	"connect+json":  {contentType: "application/connect+json", enveloped: true, newReader: newEnvelopeReader(readJSONEvent)},
	"connect+proto": {contentType: "application/connect+proto", enveloped: true, newReader: newEnvelopeReader(readEvent)},
	"sse":           {contentType: "application/json", accept: "text/event-stream", newReader: newLineReader},
}

// http1Caller makes calls over a connection of its own, which it replaces after a failure.
type http1Caller struct {
	target   string
	conn     net.Conn // nil after a failure
	reader   *bufio.Reader
	protocol protocol
	request  []byte
	messages int
	chunk    []byte
	tally    tally
}

func openHTTP1Callers(f *callFlags) ([]caller, func() []*tally, error) {
	chosen, ok := protocols[f.protocol]
	if !ok {
		return nil, nil, fmt.Errorf("no protocol is named %q", f.protocol)
	}
	body, err := os.ReadFile(f.request)
	if err != nil {
		return nil, nil, err
	}
	open := make([]*http1Caller, f.concurrency)
	callers := make([]caller, f.concurrency)
	for i := range callers {
		open[i] = &http1Caller{
			target:   f.target,
			protocol: chosen,
			request:  chosen.requestOf(f, body),
			messages: f.messages,
		}
		if err := open[i].connect(); err != nil {
			return nil, nil, err
		}
		callers[i] = open[i]
	}
	return callers, func() []*tally { return closeHTTP1(open) }, nil
}

func (p protocol) requestOf(f *callFlags, body []byte) []byte {
	if p.enveloped {
		body = append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body))), body...)
	}
	head := fmt.Appendf(nil, "POST %s HTTP/1.1\r\nhost: %s\r\ncontent-length: %d\r\n", f.path, f.target, len(body))
	if p.contentType != "" {
		head = fmt.Appendf(head, "content-type: %s\r\n", p.contentType)
	}
	if p.accept != "" {
		head = fmt.Appendf(head, "accept: %s\r\n", p.accept)
	}
	for _, header := range f.headers {
		head = fmt.Appendf(head, "%s\r\n", header)
	}
	return append(append(head, "\r\n"...), body...)
}

func closeHTTP1(callers []*http1Caller) []*tally {
	tallies := make([]*tally, len(callers))
	for i, c := range callers {
		c.disconnect()
		tallies[i] = &c.tally
	}
	return tallies
}

func (c *http1Caller) connect() (err error) {
	if c.conn, err = net.Dial("tcp", c.target); err == nil {
		c.reader = bufio.NewReaderSize(c.conn, 16<<10)
	}
	return err
}

func (c *http1Caller) disconnect() {
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}

func (c *http1Caller) call() string {
	if c.conn == nil {
		if err := c.connect(); err != nil {
			return withoutAddresses(err)
		}
	}
	failure := c.callOnce()
	if failure != "" {
		// The rest of the answer is unread.
		c.disconnect()
	}
	return failure
}

func (c *http1Caller) callOnce() string {
	started := time.Now()
	if _, err := c.conn.Write(c.request); err != nil {
		return withoutAddresses(err)
	}
	status, err := c.reader.ReadString('\n')
	if err != nil {
		return withoutAddresses(err)
	}
	if !strings.Contains(status, " 200 ") {
		return "status " + strings.TrimSpace(status)
	}
	length, err := readHead(c.reader)
	if err != nil {
		return withoutAddresses(err)
	}
	if length < 0 {
		return c.readStream(started)
	}
	c.tally.Messages++
	if _, err = io.CopyN(io.Discard, c.reader, int64(length)); err != nil {
		return withoutAddresses(err)
	}
	return ""
}

func (c *http1Caller) readStream(started time.Time) string {
	body := c.protocol.newReader(http1Call{started: started, messages: c.messages, tally: &c.tally})
	for {
		chunk, err := readChunk(c.reader, c.chunk)
		if err != nil {
			return withoutAddresses(err)
		}
		if len(chunk) == 0 {
			return body.end()
		}
		c.chunk = chunk
		c.tally.Frames++
		body.push(chunk)
	}
}

// withoutAddresses makes failures of different connections alike, so that they can be counted.
func withoutAddresses(err error) string {
	if operation, ok := err.(*net.OpError); ok {
		return operation.Op + ": " + operation.Err.Error()
	}
	return err.Error()
}

// http1Call is one call in progress.
type http1Call struct {
	started  time.Time
	messages int // expected; 0 for any number
	tally    *tally
}

func (c *http1Call) noteMessage(first bool, delta []byte) {
	if first {
		c.tally.first.add(time.Since(c.started))
	}
	c.tally.Messages++
	if sent, ok := parseClock(delta); ok {
		c.tally.event.add(sinceClock(sent))
	}
}

var deltaStart = []byte(`"delta":"`)

// clockedDelta returns the first bytes of the delta in a JSON text; nil where there is none.
func clockedDelta(text []byte) []byte {
	at := bytes.Index(text, deltaStart)
	if at < 0 || len(text) < at+len(deltaStart)+len(clockMark) {
		return nil
	}
	start := at + len(deltaStart)
	return text[start : start+len(clockMark)]
}

// eventReader counts the events of outrigger.v1 in an answer, and checks their sequence.
type eventReader struct {
	call http1Call
	read func([]byte) event
	seen int
	gaps int
}

func (r *eventReader) take(head []byte) {
	found := r.read(head)
	if found.sequence != uint64(r.seen) {
		r.gaps++
	}
	r.call.noteMessage(r.seen == 0, found.delta)
	r.seen++
}

func (r *eventReader) end() string {
	switch {
	case r.call.messages > 0 && r.seen != r.call.messages:
		return fmt.Sprintf("%d messages instead of %d", r.seen, r.call.messages)
	case r.gaps > 0:
		return "messages out of sequence"
	}
	return ""
}

// envelopeReader reads Connect's enveloped messages.
type envelopeReader struct {
	events eventReader
	cutter messageCutter
	last   string
}

// endStreamFlag marks the envelope that ends a stream (Connect protocol, Streaming-Response).
const endStreamFlag = 2

func newEnvelopeReader(read func([]byte) event) func(http1Call) bodyReader {
	return func(call http1Call) bodyReader {
		return &envelopeReader{events: eventReader{call: call, read: read}}
	}
}

func (r *envelopeReader) push(chunk []byte) {
	r.cutter.push(chunk, func(_ int, head []byte) {
		if r.cutter.prefix[0] == endStreamFlag {
			r.last = string(head)
		} else {
			r.events.take(head)
		}
	})
}

func (r *envelopeReader) end() string {
	switch {
	case r.last == "":
		return "ended without an end-stream message"
	case bytes.Contains([]byte(r.last), []byte(`"error"`)):
		return r.last
	}
	return r.events.end()
}

// lineReader reads server-sent events.
type lineReader struct {
	// take gets the data of each event.
	take func(data []byte)
	// finish returns what is wrong with the events; empty for success.
	finish func() string
	rest   []byte
}

func newLineReader(call http1Call) bodyReader {
	events := &eventReader{call: call, read: readJSONEvent}
	return &lineReader{take: events.take, finish: events.end}
}

// newProviderReader reads the events of the provider's API, of which a gateway may have changed some.
func newProviderReader(call http1Call) bodyReader {
	begun, completed := false, false
	take := func(data []byte) {
		call.noteMessage(!begun, clockedDelta(data))
		begun = true
		completed = completed || endsStream(data)
	}
	finish := func() string {
		if !completed {
			return "ended without its last event"
		}
		return ""
	}
	return &lineReader{take: take, finish: finish}
}

// endsStream tells whether an event is the last one of a stream, in any of the providers' APIs.
func endsStream(data []byte) bool {
	return bytes.Contains(data, responseCompleted) || bytes.Contains(data, messageStop) || bytes.Equal(data, done)
}

var (
	dataStart         = []byte("data: ")
	eventEnd          = []byte("\n\n")
	responseCompleted = []byte(`"response.completed"`)
	messageStop       = []byte(`"message_stop"`)
	done              = []byte("[DONE]")
)

func (r *lineReader) push(chunk []byte) {
	r.rest = append(r.rest, chunk...)
	for {
		at := bytes.Index(r.rest, eventEnd)
		if at < 0 {
			return
		}
		if data := bytes.Index(r.rest[:at], dataStart); data >= 0 {
			r.take(r.rest[data+len(dataStart) : at])
		}
		r.rest = r.rest[at+len(eventEnd):]
	}
}

func (r *lineReader) end() string {
	if len(r.rest) > 0 {
		return "ended inside an event"
	}
	return r.finish()
}

var sequenceStart = []byte(`"sequence":`)

// readJSONEvent reads the fields of a StreamEvent in JSON that the callers need. A sequence of 0 is omitted.
func readJSONEvent(message []byte) event {
	found := event{delta: clockedDelta(message)}
	at := bytes.Index(message, sequenceStart)
	if at < 0 {
		return found
	}
	digits := message[at+len(sequenceStart):]
	end := 0
	for end < len(digits) && digits[end] >= '0' && digits[end] <= '9' {
		end++
	}
	found.sequence, _ = strconv.ParseUint(string(digits[:end]), 10, 64)
	return found
}
