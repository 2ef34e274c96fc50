package outrigger_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	outrigger "github.com/outrigger-inference/outrigger/clients/go"
)

const (
	// outage is so long that gRPC's default backoff would wait for seconds more.
	outage = 10 * time.Second
	// reconnected bounds the time until a client reaches a sidecar that returned. Twice the promise, for busy
	// machines.
	reconnected = 2 * time.Second
)

func TestCallThatFindsNoSidecarNamesItsAddress(t *testing.T) {
	address := freeAddress(t)
	client := newClient(t, outrigger.WithAddress(address))
	want := "is the sidecar running at " + address + "?"
	_, err := client.Complete(t.Context(), &outrigger.Request{})
	for _, failure := range []error{err, firstError(client)} {
		if !errors.Is(failure, outrigger.ErrNetwork) || !strings.Contains(failure.Error(), want) {
			t.Errorf("got %v, want a failure of the network that asks %q", failure, want)
		}
	}
}

func TestCallIsMadeAgainIfTheSidecarStartsMeanwhile(t *testing.T) {
	address := freeAddress(t)
	client := newClient(t, outrigger.WithAddress(address))
	results := make(chan error, 1)
	client.Conn().Connect()
	waitForFailure(t, client)
	go func() {
		_, err := client.Complete(t.Context(), &outrigger.Request{})
		results <- err
	}()
	listen(t, "tcp", address, completing("here"))
	if err := <-results; err != nil {
		t.Errorf("got %v, want an answer", err)
	}
}

func TestClosedClientSaysSo(t *testing.T) {
	client := newClient(t, outrigger.WithAddress(listen(t, "tcp", "127.0.0.1:0", completing("here"))))
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := client.Complete(t.Context(), &outrigger.Request{})
	for _, failure := range []error{err, firstError(client)} {
		if !errors.Is(failure, outrigger.ErrConfiguration) || !strings.HasSuffix(failure.Error(), "the client is closed") {
			t.Errorf("got %v, want an error that says that the client is closed", failure)
		}
	}
}

// TestClientReachesARealSidecarThatReturns starts a sidecar with the command in OUTRIGGER_COMMAND, an argument a line.
func TestClientReachesARealSidecarThatReturns(t *testing.T) {
	if os.Getenv("OUTRIGGER_COMMAND") == "" {
		t.Skip("OUTRIGGER_COMMAND does not name the program")
	}
	address, admin := freeAddress(t), freeAddress(t)
	client := newClient(t, outrigger.WithAddress(address))
	request := &outrigger.Request{
		Model: "sim-echo", Messages: []*outrigger.Message{outrigger.UserMessage("hello")},
	}
	stop := startSidecar(t, address, admin)
	if _, err := client.Complete(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	stop()
	for end := time.Now().Add(outage); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if _, err := client.Complete(t.Context(), request); !errors.Is(err, outrigger.ErrNetwork) {
			t.Fatalf("got %v, want a failure of the network", err)
		}
	}
	startSidecar(t, address, admin)
	returned := time.Now()
	for _, err := client.Complete(t.Context(), request); err != nil; _, err = client.Complete(t.Context(), request) {
		if time.Since(returned) > reconnected {
			t.Fatalf("got %v, %v after the sidecar returned", err, time.Since(returned))
		}
	}
}

func firstError(client *outrigger.Client) error {
	for _, err := range client.Stream(context.Background(), &outrigger.Request{}) {
		return err
	}
	return nil
}

// waitForFailure waits until the client has tried to connect.
func waitForFailure(t *testing.T, client *outrigger.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), promptly)
	defer cancel()
	for state := client.Conn().GetState(); state.String() != "TRANSIENT_FAILURE"; state = client.Conn().GetState() {
		if !client.Conn().WaitForStateChange(ctx, state) {
			t.Fatalf("the connection is %v", state)
		}
	}
}

// startSidecar starts `outrigger demo` and waits until it is ready.
func startSidecar(t *testing.T, address, admin string) (stop func()) {
	t.Helper()
	command := strings.Split(os.Getenv("OUTRIGGER_COMMAND"), "\n")
	process := exec.Command(command[0], append(command[1:], "demo")...)
	process.Env = append(os.Environ(), "OUTRIGGER_LISTEN="+address, "OUTRIGGER_ADMIN_LISTEN="+admin)
	process.Stderr = os.Stderr
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	stop = func() {
		_ = process.Process.Kill()
		_ = process.Wait()
	}
	t.Cleanup(stop)
	for giveUp := time.Now().Add(30 * time.Second); time.Now().Before(giveUp); time.Sleep(20 * time.Millisecond) {
		response, err := http.Get("http://" + admin + "/readyz")
		if err == nil {
			_ = response.Body.Close()
			return stop
		}
	}
	t.Fatal("the sidecar did not become ready")
	return stop
}

// freeAddress returns an address at which nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}
