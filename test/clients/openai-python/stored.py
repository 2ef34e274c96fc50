"""Responses that the sidecar keeps: in the background, cancelled, read again from a cursor, continued, deleted."""

import time

from openai import NotFoundError
from openai.types.responses import Response, ResponseStreamEvent

from target import Target

# Longest wait for a response in the background, in seconds; on a busy machine too.
LONGEST_WAIT = 30


def ended(target: Target, response_id: str) -> Response:
    give_up = time.monotonic() + LONGEST_WAIT
    while time.monotonic() < give_up:
        response = target.openai.responses.retrieve(response_id)
        if response.status not in ("queued", "in_progress"):
            return response
        time.sleep(0.05)
    raise AssertionError(f"{response_id} did not end within {LONGEST_WAIT} s")


def background(target: Target) -> None:
    created = target.openai.responses.create(model=target.model("text"), input="Hello", background=True)
    assert created.status in ("queued", "in_progress") and created.background is True
    response = ended(target, created.id)
    assert response.status == "completed" and len(response.output_text) > 20


def cancel(target: Target) -> None:
    created = target.openai.responses.create(
        model=target.model("long:tokens=4000,rate=20"), input="Write a lot.", background=True
    )
    assert target.openai.responses.cancel(created.id).status == "cancelled"
    assert target.openai.responses.retrieve(created.id).status == "cancelled"
    # Cancelling twice is no mistake.
    assert target.openai.responses.cancel(created.id).status == "cancelled"


def resume(target: Target) -> None:
    """A stream can be left and continued after any event; every time with the same events."""
    live = list(
        target.openai.responses.create(
            model=target.model("long:tokens=60,rate=300"), input="Write.", background=True, stream=True
        )
    )
    response_id = id_of(live[0])
    assert list(target.openai.responses.retrieve(response_id, stream=True)) == live
    rest = list(target.openai.responses.retrieve(response_id, stream=True, starting_after=5))
    assert rest and rest == live[6:]


def resume_live(target: Target) -> None:
    """Leaves a stream in the middle, and goes on from there while the response is still being written."""
    events: list[ResponseStreamEvent] = []
    with target.openai.responses.create(
        model=target.model("long:tokens=100,rate=100"), input="Write.", background=True, stream=True
    ) as left:
        for event in left:
            events.append(event)
            if len(events) == 8:
                break
    cursor = events[-1].sequence_number
    events += target.openai.responses.retrieve(id_of(events[0]), stream=True, starting_after=cursor)
    assert [event.sequence_number for event in events] == list(range(len(events)))
    deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
    last = events[-1]
    assert last.type == "response.completed" and last.response.output_text == "".join(deltas)


def id_of(event: ResponseStreamEvent) -> str:
    assert event.type == "response.created"
    return event.response.id


def branch(target: Target) -> None:
    """Two children of one response do not see each other, nor do their children."""

    def say(text: str, parent: str | None = None) -> Response:
        return target.openai.responses.create(
            model=target.model("text"), input=text, previous_response_id=parent
        )

    parent = say("The beginning.")
    left, right, left_again = (
        say(text, parent.id) for text in ("Go left.", "Go right.", "Go left.")
    )
    assert left.output_text != right.output_text
    check_same(left, left_again)
    further, further_again = say("On.", left.id), say("On.", left_again.id)
    check_same(further, further_again)
    assert further.usage and left.usage and further.usage.input_tokens > left.usage.input_tokens


def check_same(left: Response, right: Response) -> None:
    assert left.output_text == right.output_text
    assert left.usage and right.usage and left.usage.input_tokens == right.usage.input_tokens


def instructions(target: Target) -> None:
    """Instructions are those of each request alone."""
    model = target.model("text")
    first = target.openai.responses.create(
        model=model, instructions="Answer like a pirate. " * 20, input="Hello"
    )
    second = target.openai.responses.create(
        model=model, previous_response_id=first.id, input="Hello again"
    )
    assert second.instructions is None
    assert first.usage and second.usage and second.usage.input_tokens < first.usage.input_tokens


def input_items(target: Target) -> None:
    texts = ["one", "two", "three", "four", "five"]
    response = target.openai.responses.create(
        model=target.model("text"), input=[{"role": "user", "content": text} for text in texts]
    )
    first = target.openai.responses.input_items.list(response.id, limit=2, order="asc")
    assert len(first.data) == 2 and first.has_next_page()
    items = list(first)
    assert [item.content[0].text for item in items] == texts
    assert len({item.id for item in items}) == len(texts), "ids are unique"
    newest_first = target.openai.responses.input_items.list(response.id)
    assert [item.content[0].text for item in newest_first] == texts[::-1]


def delete(target: Target) -> None:
    created = target.openai.responses.create(model=target.model("text"), input="Hello")
    assert target.openai.responses.retrieve(created.id).id == created.id
    target.openai.responses.delete(created.id)
    for call in (target.openai.responses.retrieve, target.openai.responses.delete):
        try:
            call(created.id)
        except NotFoundError:
            continue
        raise AssertionError("the response still exists")


def compact(target: Target) -> None:
    """A long conversation becomes a short one, which can be continued."""
    long = [{"role": "user", "content": f"Fact {index}. " * 30} for index in range(10)]
    model = target.model("text")
    compacted = target.openai.responses.compact(model=model, input=long)
    assert compacted.object == "response.compaction" and compacted.usage.total_tokens > 0
    assert any(item.type == "compaction" for item in compacted.output)
    question = {"role": "user", "content": "What was the first fact?"}
    following = target.openai.responses.create(model=model, input=[*compacted.output, question])
    assert following.status == "completed"


CHECKS = (background, cancel, resume, resume_live, branch, instructions, input_items, delete, compact)
