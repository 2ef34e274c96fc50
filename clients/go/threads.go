package outrigger

import (
	"context"
	"iter"

	pb "github.com/outrigger-inference/outrigger/clients/go/outrigger/v1"
)

// Messages of threads.
type (
	// Thread is a stored conversation, without its messages.
	Thread = pb.Thread
	// ThreadMessage is a message of a thread, with its id and the run that added it.
	ThreadMessage = pb.ThreadMessage
)

// ThreadOptions says what a new thread begins with. All fields may be empty.
type ThreadOptions struct {
	// Messages are the first messages, oldest first, for a conversation that began elsewhere. At most 100.
	Messages []*Message
	// Labels are stored with the thread: at most 16.
	Labels map[string]string
}

// MessageOptions says in which order the messages of a thread are listed.
type MessageOptions struct {
	// NewestFirst lists the newest message first. Default: the oldest.
	NewestFirst bool
	// PageSize is the number of messages that are fetched at once, up to 100. Default 20.
	PageSize int32
}

// Threads calls the sidecar's stored conversations. RunOptions.ThreadID takes the id of a thread: the run
// reads its messages and appends its own.
type Threads struct {
	service pb.ThreadServiceClient
}

// Threads returns the calls of stored conversations.
func (c *Client) Threads() *Threads {
	return &Threads{pb.NewThreadServiceClient(c.conn)}
}

// Create creates a thread.
func (t *Threads) Create(ctx context.Context, options ThreadOptions) (*Thread, error) {
	request := &pb.CreateThreadRequest{Messages: options.Messages, Metadata: options.Labels}
	return answered(ctx, request, t.service.CreateThread)
}

// Get returns a thread without its messages. ErrNotFound if there is none.
func (t *Threads) Get(ctx context.Context, threadID string) (*Thread, error) {
	return answered(ctx, &pb.GetThreadRequest{ThreadId: threadID}, t.service.GetThread)
}

// Update replaces all labels of a thread.
func (t *Threads) Update(ctx context.Context, threadID string, labels map[string]string) (*Thread, error) {
	return answered(ctx, &pb.UpdateThreadRequest{ThreadId: threadID, Metadata: labels}, t.service.UpdateThread)
}

// Delete deletes a thread with its messages. Its runs can still be read, and cannot be continued.
func (t *Threads) Delete(ctx context.Context, threadID string) error {
	_, err := answered(ctx, &pb.DeleteThreadRequest{ThreadId: threadID}, t.service.DeleteThread)
	return err
}

// AppendMessages appends from 1 to 100 messages without calling a model, and returns them with their ids. It
// waits while a run of the thread is in progress.
func (t *Threads) AppendMessages(
	ctx context.Context, threadID string, messages ...*Message,
) ([]*ThreadMessage, error) {
	request := &pb.AppendMessagesRequest{ThreadId: threadID, Messages: messages}
	answer, err := answered(ctx, request, t.service.AppendMessages)
	return answer.GetMessages(), err
}

// ListMessages returns the messages of a thread, oldest first unless options says otherwise. It fetches page
// after page.
func (t *Threads) ListMessages(
	ctx context.Context, threadID string, options MessageOptions,
) iter.Seq2[*ThreadMessage, error] {
	return pages(func(token string) ([]*ThreadMessage, string, error) {
		page, err := answered(ctx, &pb.ListMessagesRequest{
			ThreadId:    threadID,
			PageSize:    options.PageSize,
			PageToken:   token,
			NewestFirst: options.NewestFirst,
		}, t.service.ListMessages)
		return page.GetMessages(), page.GetNextPageToken(), err
	})
}

// GetMessage returns a message. ErrNotFound if there is none.
func (t *Threads) GetMessage(ctx context.Context, messageID string) (*ThreadMessage, error) {
	return answered(ctx, &pb.GetMessageRequest{MessageId: messageID}, t.service.GetMessage)
}

// DeleteMessage deletes a message from a thread. Forks of the thread keep it.
func (t *Threads) DeleteMessage(ctx context.Context, threadID, messageID string) error {
	request := &pb.DeleteMessageRequest{ThreadId: threadID, MessageId: messageID}
	_, err := answered(ctx, request, t.service.DeleteMessage)
	return err
}
