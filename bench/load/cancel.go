package main

import (
	"flag"
	"sync"
	"sync/atomic"
	"time"
)

// cancelReport says what became of streams that were cancelled, and of the ones beside them.
type cancelReport struct {
	Cancelled int `json:"cancelled"`
	// Streams that ended by themselves before they were cancelled.
	Lost int `json:"lost"`
	// Streams that nobody cancelled, on the same connections.
	Bystanders int `json:"bystanders"`
	// Bystanders that did not end well, or not with all of their messages.
	Disturbed int      `json:"disturbed"`
	Failures  []string `json:"failures"`
	Seconds   float64  `json:"seconds"`
}

// canceller opens streams in bursts and resets each burst as soon as all of it has begun to answer.
type canceller struct {
	rpc      *grpcCall
	messages int
	mutex    sync.Mutex
	report   cancelReport
}

func runCancel(args []string) error {
	flags := flag.NewFlagSet("cancel", flag.ExitOnError)
	target := flags.String("target", "", "host and port")
	method := flags.String("method", "", "path of the RPC")
	request := flags.String("request", "", "file with the message")
	streams := flags.Int("streams", 1, "streams to cancel")
	burst := flags.Int("burst", 100, "streams that are opened at once, and cancelled at once")
	bystanders := flags.Int("bystanders", 5, "streams on each connection that are not cancelled")
	count := flags.Int("connections", 1, "connections")
	messages := flags.Int("messages", 0, "messages that a whole answer has")
	timeout := flags.Duration("timeout", 2*time.Minute, "when to give up")
	_ = flags.Parse(args)
	giveUpAfter(*timeout)

	rpc, err := newGrpcCall(*target, *method, *request)
	if err != nil {
		return err
	}
	c := &canceller{rpc: rpc, messages: *messages}
	c.report.Failures = []string{}
	started := time.Now()
	var lines sync.WaitGroup
	for range *count {
		own := &line{options: connectionOptions{target: *target, streamWindow: ampleWindow}}
		lines.Go(func() { c.work(own, *streams / *count, *burst, *bystanders) })
	}
	lines.Wait()
	c.report.Seconds = time.Since(started).Seconds()
	return printJSON(c.report)
}

// work cancels streams on one line, while bystanders come and go on it.
func (c *canceller) work(line *line, streams, burst, bystanders int) {
	var done atomic.Bool
	var workers sync.WaitGroup
	for range bystanders {
		workers.Go(func() {
			for !done.Load() {
				c.noteBystander(c.bystand(line))
			}
		})
	}
	for left := streams; left > 0; left -= burst {
		c.cancelBurst(line, min(left, burst))
	}
	done.Store(true)
	workers.Wait()
	line.close()
}

// bystand runs one stream to its end, and says what was wrong with it.
func (c *canceller) bystand(line *line) string {
	connection, err := line.get()
	if err != nil {
		return err.Error()
	}
	caller := &grpcCaller{connection: connection, rpc: c.rpc, messages: c.messages, ended: make(chan string, 1)}
	return caller.call()
}

func (c *canceller) noteBystander(failure string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.report.Bystanders++
	if failure == "" {
		return
	}
	c.report.Disturbed++
	if len(c.report.Failures) < failuresKept {
		c.report.Failures = append(c.report.Failures, failure)
	}
}

// cancelBurst opens streams, waits until each has said something or ended, and resets all of them in one write.
func (c *canceller) cancelBurst(line *line, size int) {
	connection, err := line.get()
	if err != nil {
		c.noteCancelled(0, size)
		return
	}
	var begun sync.WaitGroup
	opened := make([]*stream, 0, size)
	for range size {
		var once sync.Once
		begun.Add(1)
		s := &stream{started: time.Now()}
		s.onMessage = func(int, []byte) { once.Do(begun.Done) }
		s.onEnd = func(string) { once.Do(begun.Done) }
		if connection.open(s, c.rpc) != nil {
			once.Do(begun.Done)
			continue
		}
		opened = append(opened, s)
	}
	begun.Wait()
	cancelled, _ := connection.cancel(opened)
	c.noteCancelled(cancelled, size-cancelled)
}

func (c *canceller) noteCancelled(cancelled, lost int) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.report.Cancelled += cancelled
	c.report.Lost += lost
}

// line is a connection that is dialled anew where it broke.
type line struct {
	options connectionOptions
	mutex   sync.Mutex
	current *connection
}

func (l *line) get() (*connection, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.current != nil && !l.current.failed() {
		return l.current, nil
	}
	l.current = nil
	fresh, err := dial(l.options)
	if err != nil {
		return nil, err
	}
	l.current = fresh
	return fresh, nil
}

func (l *line) close() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.current != nil {
		l.current.close()
	}
}
