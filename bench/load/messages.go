package main

import "encoding/binary"

// messageCutter finds the messages of gRPC or Connect in the bytes of a stream, however they are split into
// frames or chunks. Of each message it keeps the first bytes: enough for a whole text delta.
type messageCutter struct {
	prefix  [5]byte
	have    int // bytes of the prefix that arrived
	missing int // bytes of the message that did not
	length  int
	kept    [96]byte
	keeping int
}

// push takes the next bytes, and calls back with each message that they complete: its length and its first bytes.
func (c *messageCutter) push(data []byte, found func(length int, head []byte)) {
	for len(data) > 0 {
		if c.have < len(c.prefix) {
			n := copy(c.prefix[c.have:], data)
			c.have += n
			data = data[n:]
			if c.have < len(c.prefix) {
				return
			}
			c.length = int(binary.BigEndian.Uint32(c.prefix[1:]))
			c.missing, c.keeping = c.length, 0
		}
		n := min(len(data), c.missing)
		c.keeping += copy(c.kept[c.keeping:], data[:n])
		c.missing -= n
		data = data[n:]
		if c.missing == 0 {
			c.have = 0
			found(c.length, c.kept[:c.keeping])
		}
	}
}

// Fields of outrigger.v1.StreamEvent and TextDelta, as their tags.
const (
	tagSequence  = 1 << 3
	tagElapsed   = 2 << 3
	tagTextDelta = 12<<3 | 2
	tagPartIndex = 1 << 3
	tagDelta     = 2<<3 | 2
)

// event has the fields of a StreamEvent that the callers need.
type event struct {
	sequence uint64
	delta    []byte // text of a TextDelta, nil for every other event
}

// readEvent reads the first fields of a StreamEvent.
func readEvent(message []byte) event {
	var found event
	rest := message
	if value, after, ok := readVarintField(rest, tagSequence); ok {
		found.sequence, rest = value, after
	}
	if _, after, ok := readVarintField(rest, tagElapsed); ok {
		rest = after
	}
	delta, ok := readBytesField(rest, tagTextDelta)
	if !ok {
		return found
	}
	if _, after, ok := readVarintField(delta, tagPartIndex); ok {
		delta = after
	}
	found.delta, _ = readBytesField(delta, tagDelta)
	return found
}

func readVarintField(from []byte, tag byte) (value uint64, rest []byte, ok bool) {
	if len(from) == 0 || from[0] != tag {
		return 0, from, false
	}
	value, n := binary.Uvarint(from[1:])
	if n <= 0 {
		return 0, from, false
	}
	return value, from[1+n:], true
}

func readBytesField(from []byte, tag byte) ([]byte, bool) {
	length, rest, ok := readVarintField(from, tag)
	if !ok || uint64(len(rest)) < length {
		return nil, false
	}
	return rest[:length], true
}
