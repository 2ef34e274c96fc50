"""Answers without tools: whole, streamed, with a schema, with reasoning, about an image."""

import json
import re
import time

from openai import BadRequestError
from openai.types.responses import ResponseUsage
from pydantic import BaseModel

from target import Target

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def text(target: Target) -> None:
    response = target.openai.responses.create(
        model=target.model("text"), instructions="Be brief.", input="How is the weather?"
    )
    assert response.object == "response" and response.id.startswith("resp_"), response.id
    assert response.status == "completed", response.status
    assert response.error is None and response.incomplete_details is None
    assert abs(response.created_at - time.time()) < 60, response.created_at
    message = response.output[0]
    assert message.type == "message" and message.role == "assistant" and message.status == "completed"
    assert len(response.output_text) > 20, response.output_text
    check_usage(response.usage)


def check_usage(usage: ResponseUsage | None) -> None:
    assert usage is not None and usage.input_tokens > 0 and usage.output_tokens > 0
    assert usage.total_tokens == usage.input_tokens + usage.output_tokens
    assert isinstance(usage.input_tokens_details.cached_tokens, int)
    assert isinstance(usage.output_tokens_details.reasoning_tokens, int)


def settings(target: Target) -> None:
    """A response repeats the settings of its request."""
    response = target.openai.responses.create(
        model=target.model("text"),
        input="Hello",
        instructions="Be brief.",
        max_output_tokens=500,
        metadata={"team": "blue"},
        parallel_tool_calls=False,
        prompt_cache_key="greeting",
        safety_identifier="user-1",
        text={"format": {"type": "text"}},
        tool_choice="auto",
        truncation="disabled",
    )
    assert response.instructions == "Be brief."
    assert response.max_output_tokens == 500
    assert response.metadata == {"team": "blue"}
    assert response.parallel_tool_calls is False
    assert response.prompt_cache_key == "greeting"
    assert response.safety_identifier == "user-1"
    assert response.text is not None and response.text.format is not None
    assert response.text.format.type == "text"
    assert response.tool_choice == "auto" and response.tools == []
    assert response.truncation == "disabled"
    assert response.background is False and response.previous_response_id is None


def stream(target: Target) -> None:
    with target.openai.responses.stream(model=target.model("text"), input="How is the weather?") as accumulated:
        events = list(accumulated)
        response = accumulated.get_final_response()
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert [event.type for event in events[:2]] == ["response.created", "response.in_progress"]
    assert events[-1].type == "response.completed"
    deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert len(deltas) > 3, "the text arrives in pieces"
    assert "".join(deltas) == response.output_text
    check_usage(response.usage)
    # The stored response equals the streamed one.
    kept = target.openai.responses.retrieve(response.id)
    assert kept.output_text == response.output_text
    assert [item.id for item in kept.output] == [item.id for item in response.output]


def done_marker(target: Target) -> None:
    """The bytes of a stream: named events, and `[DONE]` at the end."""
    raw = target.openai.responses.with_raw_response.create(
        model=target.model("text"), input="Hello", stream=True
    )
    assert raw.headers["content-type"].startswith("text/event-stream")
    body = raw.http_response.read().decode()
    assert body.endswith("data: [DONE]\n\n"), body[-60:]
    events = re.findall(r"^event: (.*)\ndata: (.*)\n\n", body, re.MULTILINE)
    assert len(events) > 5
    for name, data in events:
        assert json.loads(data)["type"] == name


class City(BaseModel):
    name: str
    people: float
    districts: list[str]


def structured_output(target: Target) -> None:
    response = target.openai.responses.parse(
        model=target.model("text"), input="Describe Paris as JSON.", text_format=City
    )
    assert isinstance(response.output_parsed, City), response.output_text


def reasoning(target: Target) -> None:
    """Reasoning is shown, counted, and taken back by the provider that wrote it."""
    settings = {
        "model": target.model("reasoning"),
        "reasoning": {"effort": "medium", "summary": "auto"},
        "include": ["reasoning.encrypted_content"],
        "store": False,
    }
    question = {"role": "user", "content": "Why is the sky blue?"}
    with target.openai.responses.stream(**settings, input=[question]) as accumulated:
        types = {event.type for event in accumulated}
        response = accumulated.get_final_response()
    thought = response.output[0]
    assert thought.type == "reasoning"
    shown = "".join(part.text for part in [*thought.summary, *(thought.content or [])])
    assert len(shown) > 20, shown
    assert types & {"response.reasoning_summary_text.delta", "response.reasoning_text.delta"}, types
    if target.provider in ("openai", "anthropic"):
        assert thought.encrypted_content
    assert response.usage is not None and response.usage.output_tokens_details.reasoning_tokens > 0
    history = [question, *response.output, {"role": "user", "content": "And at night?"}]
    following = target.openai.responses.create(**settings, input=history)
    assert following.status == "completed"


def image(target: Target) -> None:
    content = [
        {"type": "input_text", "text": "What is this?"},
        {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}", "detail": "auto"},
    ]
    response = target.openai.responses.create(
        model=target.model("text"), input=[{"role": "user", "content": content}]
    )
    assert "1 attachment(s): image" in response.output_text, response.output_text


def incomplete(target: Target) -> None:
    """An answer that was truncated says so."""
    response = target.openai.responses.create(
        model=target.model("long:tokens=400,rate=100000"), input="Write a lot.", max_output_tokens=40
    )
    assert response.status == "incomplete", response.status
    assert response.incomplete_details is not None
    assert response.incomplete_details.reason == "max_output_tokens"


def input_tokens(target: Target) -> None:
    counted = target.openai.responses.input_tokens.count(
        model=target.model("text"), input="How is the weather in Oslo? " * 20
    )
    assert counted.object == "response.input_tokens" and counted.input_tokens > 50, counted


def embeddings(target: Target) -> None:
    """The SDK asks for base64, and decodes it. Anthropic has no embeddings."""
    texts = ["Grüße 👋", "Hello", "Hello"]
    try:
        answer = target.openai.embeddings.create(model=target.model("text"), input=texts, dimensions=8)
    except BadRequestError as error:
        assert target.provider == "anthropic" and error.param == "model", error
        return
    first, second, third = [each.embedding for each in answer.data]
    assert [each.index for each in answer.data] == [0, 1, 2] and len(first) == 8, answer
    assert second == third != first, answer
    assert answer.usage.total_tokens == answer.usage.prompt_tokens, answer.usage


def models(target: Target) -> None:
    listed = list(target.openai.models.list())
    assert listed and all(each.object == "model" for each in listed)
    names = [each.id for each in listed]
    name = next((each for each in names if each.startswith(f"{target.provider}/")), names[0])
    assert target.openai.models.retrieve(name).id == name


CHECKS = (
    text,
    settings,
    stream,
    done_marker,
    structured_output,
    reasoning,
    image,
    incomplete,
    input_tokens,
    embeddings,
    models,
)
