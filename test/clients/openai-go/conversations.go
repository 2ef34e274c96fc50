package main

import (
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/conversations"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
)

// Conversations as objects: created, changed, read page by page, deleted.
var conversationChecks = []check{
	{"conversations", conversationObject},
	{"conversation_items", conversationItemObjects},
}

func conversationObject(t *target) {
	created, err := t.openai.Conversations.New(t.ctx, conversations.ConversationNewParams{
		Metadata: shared.Metadata{"topic": "tests"},
		Items:    []responses.ResponseInputItemUnionParam{userMessage("one")},
	})
	t.noError(err)
	t.expect(strings.HasPrefix(created.ID, "conv_"), "id %s", created.ID)
	t.expect(reflect.DeepEqual(created.Metadata, map[string]any{"topic": "tests"}), "%s", created.RawJSON())
	changed, err := t.openai.Conversations.Update(t.ctx, created.ID, conversations.ConversationUpdateParams{
		Metadata: shared.Metadata{"topic": "more"},
	})
	t.noError(err)
	read, err := t.openai.Conversations.Get(t.ctx, created.ID)
	t.noError(err)
	t.expect(strings.Contains(read.RawJSON(), `"more"`) && read.RawJSON() == changed.RawJSON(), "%s", read.RawJSON())
	t.create(responses.ResponseNewParams{
		Model:        t.model("text"),
		Conversation: responses.ResponseNewParamsConversationUnion{OfString: openai.String(created.ID)},
		Input:        textInput("two"),
	})
	var roles []string
	for _, item := range conversationItems(t, created.ID) {
		roles = append(roles, string(item.AsMessage().Role))
	}
	t.expect(slices.Equal(roles, []string{"user", "user", "assistant"}), "roles %v", roles)
	removed, err := t.openai.Conversations.Delete(t.ctx, created.ID)
	t.noError(err)
	t.expect(removed.ID == created.ID && removed.Deleted, "%s", removed.RawJSON())
	_, err = t.openai.Conversations.Get(t.ctx, created.ID)
	expectNotFound(t, err)
}

func conversationItemObjects(t *target) {
	conversation, err := t.openai.Conversations.New(t.ctx, conversations.ConversationNewParams{})
	t.noError(err)
	items := t.openai.Conversations.Items
	added, err := items.New(t.ctx, conversation.ID, conversations.ItemNewParams{
		Items: []responses.ResponseInputItemUnionParam{userMessage("one"), userMessage("two"), userMessage("three")},
	})
	t.noError(err)
	t.expect(len(added.Data) == 3, "%s", added.RawJSON())
	page, err := items.List(t.ctx, conversation.ID, conversations.ItemListParams{
		Limit: openai.Int(2), Order: conversations.ItemListParamsOrderAsc,
	})
	t.noError(err)
	t.expect(page.HasMore && len(page.Data) == 2, "%s", page.RawJSON())
	for index, item := range conversationItems(t, conversation.ID) {
		t.expect(item.RawJSON() == added.Data[index].RawJSON(), "item %d is %s", index, item.RawJSON())
	}
	second := added.Data[1]
	read, err := items.Get(t.ctx, conversation.ID, second.ID, conversations.ItemGetParams{})
	t.noError(err)
	t.expect(read.RawJSON() == second.RawJSON(), "%s", read.RawJSON())
	left, err := items.Delete(t.ctx, conversation.ID, second.ID)
	t.noError(err)
	t.expect(left.ID == conversation.ID, "%s", left.RawJSON())
	_, err = items.Get(t.ctx, conversation.ID, second.ID, conversations.ItemGetParams{})
	expectNotFound(t, err)
	t.expect(len(conversationItems(t, conversation.ID)) == 2, "the item was not removed")
}

// conversationItems reads all pages.
func conversationItems(t *target, id string) []conversations.ConversationItemUnion {
	pages := t.openai.Conversations.Items.ListAutoPaging(t.ctx, id, conversations.ItemListParams{
		Limit: openai.Int(2), Order: conversations.ItemListParamsOrderAsc,
	})
	var items []conversations.ConversationItemUnion
	for pages.Next() {
		items = append(items, pages.Current())
	}
	t.noError(pages.Err())
	return items
}

func expectNotFound(t *target, err error) {
	var failure *openai.Error
	t.expect(errors.As(err, &failure) && failure.StatusCode == 404, "want 404, got %v", err)
}
