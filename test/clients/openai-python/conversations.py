"""Conversations as objects: created, changed, read page by page, deleted."""

from openai import NotFoundError

from target import Target


def conversations(target: Target) -> None:
    api = target.openai.conversations
    created = api.create(metadata={"topic": "tests"}, items=[{"role": "user", "content": "one"}])
    assert created.object == "conversation" and created.id.startswith("conv_")
    assert created.metadata == {"topic": "tests"}
    changed = api.update(created.id, metadata={"topic": "more"})
    assert changed.metadata == {"topic": "more"}
    assert api.retrieve(created.id) == changed
    target.openai.responses.create(model=target.model("text"), conversation=created.id, input="two")
    assert roles_of(target, created.id) == ["user", "user", "assistant"]
    removed = api.delete(created.id)
    assert removed.id == created.id and removed.deleted
    try:
        api.retrieve(created.id)
    except NotFoundError:
        return
    raise AssertionError("the conversation still exists")


def conversation_items(target: Target) -> None:
    conversation = target.openai.conversations.create().id
    api = target.openai.conversations.items
    texts = ["one", "two", "three"]
    added = api.create(
        conversation, items=[{"type": "message", "role": "user", "content": text} for text in texts]
    )
    assert added.object == "list" and len(added.data) == 3
    page = api.list(conversation, limit=2, order="asc")
    assert page.has_more
    items = list(page)
    assert items == added.data
    second = items[1]
    assert second.id is not None
    assert api.retrieve(second.id, conversation_id=conversation) == second
    assert api.delete(second.id, conversation_id=conversation).id == conversation
    try:
        api.retrieve(second.id, conversation_id=conversation)
    except NotFoundError:
        assert len(roles_of(target, conversation)) == 2
        return
    raise AssertionError("the item still exists")


def roles_of(target: Target, conversation: str) -> list[str]:
    return [item.role for item in target.openai.conversations.items.list(conversation, order="asc")]


CHECKS = (conversations, conversation_items)
