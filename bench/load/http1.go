package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

var contentLength = []byte("content-length:")

// maxRequestBytes is far above the largest request of the benchmark.
const maxRequestBytes = 1 << 20

// readRequest reads a request with a body of known length, and returns the body. Its bytes are in the given
// buffer if that is large enough.
func readRequest(reader *bufio.Reader, into []byte) ([]byte, error) {
	length, err := readHead(reader)
	if err != nil {
		return nil, err
	}
	if length <= 0 || length > maxRequestBytes {
		return nil, fmt.Errorf("a body of %d bytes", length)
	}
	if cap(into) < length {
		into = make([]byte, length)
	}
	into = into[:length]
	_, err = io.ReadFull(reader, into)
	return into, err
}

// readHead reads up to the empty line. It returns the length of the body, -1 where there is no such header.
func readHead(reader *bufio.Reader) (int, error) {
	length := -1
	for {
		line, err := reader.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			return length, nil
		}
		if len(line) > len(contentLength) && bytes.EqualFold(line[:len(contentLength)], contentLength) {
			length, err = strconv.Atoi(string(bytes.TrimSpace(line[len(contentLength):])))
			if err != nil {
				return 0, err
			}
		}
	}
}

// readChunk reads one chunk; an empty one is the last. The bytes are valid until the next call.
func readChunk(reader *bufio.Reader, into []byte) ([]byte, error) {
	line, err := reader.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	size, err := strconv.ParseUint(string(bytes.TrimRight(line, "\r\n")), 16, 31)
	if err != nil {
		return nil, errors.New("a chunk without a size")
	}
	if cap(into) < int(size)+2 {
		into = make([]byte, size+2)
	}
	into = into[:size+2]
	if _, err := io.ReadFull(reader, into); err != nil {
		return nil, err
	}
	return into[:size], nil
}
