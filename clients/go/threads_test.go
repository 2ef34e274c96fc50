package outrigger_test

import (
	"errors"
	"iter"
	"strings"
	"testing"

	outrigger "github.com/outrigger-inference/outrigger/clients/go"
	pb "github.com/outrigger-inference/outrigger/clients/go/outrigger/v1"
)

func sidecarThreads(t *testing.T, client *outrigger.Client) {
	threads := client.Threads()
	var info outrigger.CallInfo
	ctx := outrigger.WithHeaders(t.Context(), map[string]string{"x-request-id": "mine-1"})
	created, err := threads.Create(outrigger.WithCallInfo(ctx, &info), outrigger.ThreadOptions{
		Labels: map[string]string{"user": "ada", "topic": "boats"},
	})
	if err != nil {
		t.Fatal(err)
	}
	check(t, "request id", info.RequestID(), "mine-1")
	check(t, "is a conversation", created.GetConversation(), true)
	updated, err := threads.Update(t.Context(), created.GetId(), map[string]string{"topic": "canoes"})
	if err != nil {
		t.Fatal(err)
	}
	check(t, "labels", len(updated.GetMetadata()), 1)
	read, err := threads.Get(t.Context(), created.GetId())
	if err != nil {
		t.Fatal(err)
	}
	check(t, "topic", read.GetMetadata()["topic"], "canoes")
	if err := threads.Delete(t.Context(), created.GetId()); err != nil {
		t.Fatal(err)
	}
	_, err = threads.Get(t.Context(), created.GetId())
	check(t, "is gone", errors.Is(err, outrigger.ErrNotFound), true)
	for _, err := range threads.ListMessages(t.Context(), created.GetId(), outrigger.MessageOptions{}) {
		check(t, "has no messages", errors.Is(err, outrigger.ErrNotFound), true)
	}
}

func sidecarThreadMessages(t *testing.T, client *outrigger.Client) {
	threads := client.Threads()
	thread := mustCreateThread(t, client, outrigger.UserMessage("One"), outrigger.AssistantMessage("Two"))
	added, err := threads.AppendMessages(t.Context(), thread, outrigger.UserMessage("Three"))
	if err != nil {
		t.Fatal(err)
	}
	one := outrigger.MessageOptions{PageSize: 1}
	check(t, "messages", texts(t, threads.ListMessages(t.Context(), thread, one)), "One Two Three")
	newest := outrigger.MessageOptions{PageSize: 2, NewestFirst: true}
	check(t, "newest first", texts(t, threads.ListMessages(t.Context(), thread, newest)), "Three Two One")

	found, err := threads.GetMessage(t.Context(), added[0].GetId())
	if err != nil {
		t.Fatal(err)
	}
	check(t, "text", outrigger.TextOf(found.GetMessage()), "Three")
	if err := threads.DeleteMessage(t.Context(), thread, added[0].GetId()); err != nil {
		t.Fatal(err)
	}
	_, err = threads.GetMessage(t.Context(), added[0].GetId())
	check(t, "is gone", errors.Is(err, outrigger.ErrNotFound), true)

	_, err = threads.AppendMessages(t.Context(), thread)
	failure, ok := errors.AsType[*outrigger.Error](err)
	if !ok || len(failure.Violations) != 1 {
		t.Fatalf("got %v, want a violation", err)
	}
	check(t, "field", failure.Violations[0].Field, "messages")
}

func sidecarThreadOfRuns(t *testing.T, client *outrigger.Client) {
	thread := mustCreateThread(t, client, outrigger.UserMessage("My name is Ada."), outrigger.AssistantMessage("Hi."))
	run, err := client.Runs().Create(t.Context(), outrigger.RunOptions{
		GenerateOptions: outrigger.GenerateOptions{Model: "sim-echo", Prompt: "Who am I?"},
		ThreadID:        thread,
	})
	if err != nil {
		t.Fatal(err)
	}
	check(t, "status", run.GetStatus(), pb.RunStatus_RUN_STATUS_COMPLETED)
	check(t, "thread", run.GetThreadId(), thread)
	var messages []*outrigger.ThreadMessage
	for message, err := range client.Threads().ListMessages(t.Context(), thread, outrigger.MessageOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		messages = append(messages, message)
	}
	if len(messages) != 4 {
		t.Fatalf("got %d messages, want 4", len(messages))
	}
	check(t, "question", outrigger.TextOf(messages[2].GetMessage()), "Who am I?")
	check(t, "is output", messages[3].GetOutput(), true)
	check(t, "run", messages[3].GetRunId(), run.GetId())
	answer := run.GetSteps()[0].GetResponse().GetMessage()
	check(t, "answer", outrigger.TextOf(messages[3].GetMessage()), outrigger.TextOf(answer))
}

// mustCreateThread returns the id of a new thread.
func mustCreateThread(t *testing.T, client *outrigger.Client, messages ...*outrigger.Message) string {
	t.Helper()
	thread, err := client.Threads().Create(t.Context(), outrigger.ThreadOptions{Messages: messages})
	if err != nil {
		t.Fatal(err)
	}
	return thread.GetId()
}

// texts joins the texts of listed messages.
func texts(t *testing.T, listed iter.Seq2[*outrigger.ThreadMessage, error]) string {
	t.Helper()
	var found []string
	for message, err := range listed {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, outrigger.TextOf(message.GetMessage()))
	}
	return strings.Join(found, " ")
}
