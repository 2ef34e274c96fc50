package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
)

// readReport has the results of the readers.
type readReport struct {
	Readers int `json:"readers"`
	// Readers that got all events: numbered from 0 without a gap, up to response.completed.
	Complete int `json:"complete"`
	// Numbers of readers that missed something, by what they missed.
	Failures map[string]int `json:"failures"`
	// Events of the complete readers, the least and the most of one.
	LeastEvents int `json:"leastEvents"`
	MostEvents  int `json:"mostEvents"`
}

// runRead reads the streams of stored responses over HTTP/1.1, each reader on a connection of its own. It prints
// "reading" when all readers have begun, and its report when they have ended and standard input is closed.
func runRead(args []string) error {
	var paths []string
	flags := flag.NewFlagSet("read", flag.ExitOnError)
	target := flags.String("target", "", "host and port")
	readers := flags.Int("readers", 1, "readers altogether")
	flags.Func("path", "path of a stream; if repeated, the readers take turns", func(path string) error {
		paths = append(paths, path)
		return nil
	})
	ramp := flags.Duration("ramp", 0, "time over which the readers begin")
	limit := flags.Duration("limit", time.Minute, "when a reader gives up")
	_ = flags.Parse(args)
	if len(paths) == 0 {
		return fmt.Errorf("no -path")
	}

	all := make([]storedReader, *readers)
	var begun, ended sync.WaitGroup
	begun.Add(len(all))
	for i := range all {
		ended.Go(func() {
			time.Sleep(*ramp * time.Duration(i) / time.Duration(len(all)))
			all[i].failure = all[i].read(*target, paths[i%len(paths)], *limit, begun.Done)
		})
	}
	begun.Wait()
	fmt.Println("reading")
	ended.Wait()
	waitForClose()
	return printJSON(reportReaders(all))
}

func reportReaders(all []storedReader) readReport {
	report := readReport{Readers: len(all)}
	var failures tally
	for _, reader := range all {
		if reader.failure != "" {
			failures.addFailures(reader.failure, 1)
			continue
		}
		if report.Complete == 0 || reader.events < report.LeastEvents {
			report.LeastEvents = reader.events
		}
		report.MostEvents = max(report.MostEvents, reader.events)
		report.Complete++
	}
	report.Failures = failures.Failures
	return report
}

// storedReader reads one stream.
type storedReader struct {
	events    int
	completed bool
	failure   string
}

// read returns what is wrong with the stream; empty for success. It calls begun when the request is sent, or has failed.
func (r *storedReader) read(target, path string, limit time.Duration, begun func()) string {
	conn, err := net.Dial("tcp", target)
	if err == nil {
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(limit))
		_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nhost: %s\r\naccept: text/event-stream\r\n\r\n", path, target)
	}
	begun()
	if err != nil {
		return withoutAddresses(err)
	}
	reader := bufio.NewReaderSize(conn, 4<<10)
	status, err := reader.ReadString('\n')
	if err != nil {
		return withoutAddresses(err)
	}
	if !strings.Contains(status, " 200 ") {
		return "status " + strings.TrimSpace(status)
	}
	if _, err := readHead(reader); err != nil {
		return withoutAddresses(err)
	}
	return r.readEvents(reader)
}

func (r *storedReader) readEvents(reader *bufio.Reader) string {
	gap := false
	lines := &lineReader{take: func(data []byte) {
		if number, ok := sequenceNumber(data); ok {
			gap = gap || number != r.events
			r.events++
		}
		r.completed = r.completed || bytes.Contains(data, responseCompleted)
	}}
	var chunk []byte
	for {
		var err error
		if chunk, err = readChunk(reader, chunk); err != nil {
			return withoutAddresses(err)
		}
		if len(chunk) == 0 {
			break
		}
		lines.push(chunk)
	}
	switch {
	case gap:
		return "events out of sequence"
	case !r.completed:
		return "ended without response.completed"
	}
	return ""
}

var sequenceNumberStart = []byte(`"sequence_number":`)

// sequenceNumber finds the number of a server-sent event in its data. The last event, [DONE], has none.
func sequenceNumber(data []byte) (int, bool) {
	_, rest, found := bytes.Cut(data, sequenceNumberStart)
	if !found {
		return 0, false
	}
	end := bytes.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	number, err := strconv.Atoi(string(rest[:max(end, 0)]))
	return number, err == nil
}
