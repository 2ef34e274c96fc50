package main

import (
	"flag"
	"sync"
	"sync/atomic"
	"time"
)

// cancelReport has the results of cancelled streams, and of the bystanders.
type cancelReport struct {
	Cancelled int `json:"cancelled"`
	// Streams that ended by themselves before they were cancelled.
	Lost int `json:"lost"`
	// Streams on the same connections that were not cancelled.
	Bystanders int `json:"bystanders"`
	// Bystanders that failed or did not get all of their messages.
	Disturbed int      `json:"disturbed"`
	Failures  []string `json:"failures"`
	Seconds   float64  `json:"seconds"`
}

// canceller opens streams in bursts and resets each burst as soon as every stream has received a message.
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
		own := &connector{options: connectionOptions{target: *target, streamWindow: ampleWindow}}
		lines.Go(func() { c.work(own, *streams / *count, *burst, *bystanders) })
	}
	lines.Wait()
	c.report.Seconds = time.Since(started).Seconds()
	return printJSON(c.report)
}

// work cancels streams on one connection, while bystanders run on it.
func (c *canceller) work(connector *connector, streams, burst, bystanders int) {
	var done atomic.Bool
	var workers sync.WaitGroup
	for range bystanders {
		workers.Go(func() {
			for !done.Load() {
				c.noteBystander(c.bystand(connector))
			}
		})
	}
	for left := streams; left > 0; left -= burst {
		c.cancelBurst(connector, min(left, burst))
	}
	done.Store(true)
	workers.Wait()
	connector.close()
}

// bystand runs one stream to its end, and returns its failure.
func (c *canceller) bystand(connector *connector) string {
	connection, err := connector.get()
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

// cancelBurst opens streams, waits until each has received a message or ended, and resets all of them in one write.
func (c *canceller) cancelBurst(connector *connector, size int) {
	connection, err := connector.get()
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

// connector is a connection that is dialled again after it broke.
type connector struct {
	options connectionOptions
	mutex   sync.Mutex
	current *connection
}

func (c *connector) get() (*connection, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.current != nil && !c.current.failed() {
		return c.current, nil
	}
	c.current = nil
	fresh, err := dial(c.options)
	if err != nil {
		return nil, err
	}
	c.current = fresh
	return fresh, nil
}

func (c *connector) close() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.current != nil {
		c.current.close()
	}
}
