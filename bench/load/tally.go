package main

import (
	"slices"
	"syscall"
	"time"
)

// tally has the measurements of a number of calls.
type tally struct {
	Calls    int `json:"calls"`
	Failed   int `json:"failed"`
	Messages int `json:"messages"`
	// DATA frames, or chunks of HTTP/1.1.
	Frames int `json:"frames"`
	// Numbers of failed calls by what was wrong with them.
	Failures map[string]int `json:"failures"`

	call, first, event samples
}

// failuresKept limits the kinds of failures that are told apart.
const failuresKept = 5

func (t *tally) addCall(took time.Duration, failure string) {
	t.Calls++
	if failure == "" {
		t.call.add(took)
		return
	}
	t.Failed++
	t.addFailures(failure, 1)
}

func (t *tally) addFailures(failure string, count int) {
	if t.Failures == nil {
		t.Failures = map[string]int{}
	}
	if _, known := t.Failures[failure]; known || len(t.Failures) < failuresKept {
		t.Failures[failure] += count
	}
}

func (t *tally) merge(other *tally) {
	t.Calls += other.Calls
	t.Failed += other.Failed
	t.Messages += other.Messages
	t.Frames += other.Frames
	for failure, count := range other.Failures {
		t.addFailures(failure, count)
	}
	t.call = append(t.call, other.call...)
	t.first = append(t.first, other.first...)
	t.event = append(t.event, other.event...)
}

// callReport is the printed form of a tally.
type callReport struct {
	tally
	Seconds float64 `json:"seconds"`
	// CPU time of this process.
	CPUMicros int64     `json:"cpuMicros"`
	Call      quantiles `json:"call"`
	First     quantiles `json:"first"`
	Event     quantiles `json:"event"`
}

func (t *tally) report(took time.Duration) callReport {
	return callReport{
		tally:     *t,
		Seconds:   took.Seconds(),
		CPUMicros: cpuMicros(),
		Call:      t.call.quantiles(),
		First:     t.first.quantiles(),
		Event:     t.event.quantiles(),
	}
}

func cpuMicros() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return (usage.Utime.Nano() + usage.Stime.Nano()) / 1000
}

// samples are durations in microseconds.
type samples []int32

func (s *samples) add(took time.Duration) {
	*s = append(*s, int32(took.Microseconds()))
}

// quantiles are in microseconds.
type quantiles struct {
	Count int   `json:"count"`
	P50   int32 `json:"p50"`
	P99   int32 `json:"p99"`
}

func (s samples) quantiles() quantiles {
	if len(s) == 0 {
		return quantiles{}
	}
	sorted := slices.Clone(s)
	slices.Sort(sorted)
	at := func(part float64) int32 { return sorted[int(part*float64(len(sorted)-1))] }
	return quantiles{Count: len(sorted), P50: at(0.50), P99: at(0.99)}
}
