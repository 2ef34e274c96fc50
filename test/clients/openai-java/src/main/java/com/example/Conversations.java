package com.example;

import static com.example.Target.json;
import static com.example.Target.user;

import com.openai.core.JsonValue;
import com.openai.errors.NotFoundException;
import com.openai.models.conversations.Conversation;
import com.openai.models.conversations.ConversationCreateParams;
import com.openai.models.conversations.ConversationDeletedResource;
import com.openai.models.conversations.ConversationUpdateParams;
import com.openai.models.conversations.items.ConversationItem;
import com.openai.models.conversations.items.ConversationItemList;
import com.openai.models.conversations.items.ItemCreateParams;
import com.openai.models.conversations.items.ItemDeleteParams;
import com.openai.models.conversations.items.ItemListPage;
import com.openai.models.conversations.items.ItemListParams;
import com.openai.models.conversations.items.ItemRetrieveParams;
import com.openai.services.blocking.ConversationService;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** Conversations as objects: created, changed, read page by page, deleted. */
record Conversations(Target target) {
  void addTo(Map<String, Expect.Call> checks) {
    checks.put("conversations", this::conversations);
    checks.put("conversation_items", this::items);
  }

  private void conversations() {
    ConversationService api = target.client().conversations();
    Conversation created =
        api.create(
            ConversationCreateParams.builder()
                .metadata(
                    ConversationCreateParams.Metadata.builder()
                        .putAdditionalProperty("topic", JsonValue.from("tests"))
                        .build())
                .items(List.of(user("one")))
                .build());
    String id = created.id();
    Expect.that(id.startsWith("conv_"), "id %s", id);
    Expect.that(json(created).path("metadata").toString().equals("{\"topic\":\"tests\"}"), "%s", created);
    Conversation changed =
        api.update(
            id,
            ConversationUpdateParams.builder()
                .metadata(
                    ConversationUpdateParams.Metadata.builder()
                        .putAdditionalProperty("topic", JsonValue.from("more"))
                        .build())
                .build());
    Expect.that(json(changed).path("metadata").toString().equals("{\"topic\":\"more\"}"), "%s", changed);
    Expect.that(json(api.retrieve(id)).equals(json(changed)), "%s", changed);
    target.responses().create(target.with("text").conversation(id).input("two").build());
    List<String> roles = itemsOf(target, id).stream().map(item -> json(item).path("role").asText()).toList();
    Expect.that(roles.equals(List.of("user", "user", "assistant")), "roles %s", roles);
    ConversationDeletedResource removed = api.delete(id);
    Expect.that(removed.id().equals(id) && removed.deleted(), "%s", removed);
    Expect.failure(NotFoundException.class, () -> api.retrieve(id));
  }

  private void items() {
    ConversationService api = target.client().conversations();
    String id = api.create().id();
    ConversationItemList added =
        api.items()
            .create(
                id,
                ItemCreateParams.builder()
                    .items(Stream.of("one", "two", "three").map(Target::user).toList())
                    .build());
    ItemListPage page = firstPage(target, id);
    Expect.that(page.items().size() == 2 && page.hasNextPage(), "%s", page);
    Expect.that(json(itemsOf(target, id)).equals(json(added.data())), "%s", added);
    String second = json(added.data().get(1)).path("id").asText();
    ItemRetrieveParams retrieve = ItemRetrieveParams.builder().conversationId(id).build();
    ConversationItem read = api.items().retrieve(second, retrieve);
    Expect.that(json(read).equals(json(added.data().get(1))), "%s", read);
    Conversation left = api.items().delete(second, ItemDeleteParams.builder().conversationId(id).build());
    Expect.that(left.id().equals(id), "%s", left);
    Expect.failure(NotFoundException.class, () -> api.items().retrieve(second, retrieve));
    Expect.that(itemsOf(target, id).size() == 2, "the item was not removed");
  }

  /** All pages, oldest item first. */
  static List<ConversationItem> itemsOf(Target target, String id) {
    return firstPage(target, id).autoPager().stream().toList();
  }

  private static ItemListPage firstPage(Target target, String id) {
    ItemListParams params = ItemListParams.builder().limit(2).order(ItemListParams.Order.ASC).build();
    return target.client().conversations().items().list(id, params);
  }
}
