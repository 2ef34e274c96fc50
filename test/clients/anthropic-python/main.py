"""Calls a sidecar's Messages API with Anthropic's SDK for Python, the way a program does that was written for Anthropic:
only the base URL and the names of the models differ. Each check runs for every provider.
"""

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import anthropic
from checks import run_checks
from pydantic import BaseModel

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

WEATHER = {
    "name": "get_weather",
    "description": "The weather in a city",
    "input_schema": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
}


class City(BaseModel):
    name: str
    inhabitants: int


@dataclass(frozen=True)
class Target:
    """A provider behind the sidecar."""

    client: anthropic.Anthropic
    provider: str

    def arguments(self, script: str, content: object = "Hello", **more: object) -> dict[str, object]:
        """The arguments of a call of the provider's simulator with a model such as `sim-tools:calls=2`."""
        messages = content if is_conversation(content) else [{"role": "user", "content": content}]
        return {
            "model": f"{self.provider}/sim-{script}",
            "max_tokens": 5000,
            "messages": messages,
            **more,
        }

    def create(self, script: str, content: object = "Hello", **more: object) -> anthropic.types.Message:
        return self.client.messages.create(**self.arguments(script, content, **more))


def is_conversation(content: object) -> bool:
    return isinstance(content, list) and "role" in content[0]


def text_of(message: anthropic.types.Message) -> str:
    return "".join(block.text for block in message.content if block.type == "text")


def text(target: Target) -> None:
    answer = target.create("echo", "Grüße 👋", system="Repeat.")
    assert text_of(answer) == "Grüße 👋", answer
    assert (answer.role, answer.stop_reason, answer.stop_sequence) == ("assistant", "end_turn", None), answer
    assert answer.usage.input_tokens > 0 and answer.usage.output_tokens > 0, answer.usage


def max_tokens(target: Target) -> None:
    answer = target.create("text:stop=length")
    assert answer.stop_reason == "max_tokens", answer


def stream(target: Target) -> None:
    """The SDK's stream, and the events without its help, as `stream=True` gives them."""
    with target.client.messages.stream(**target.arguments("echo", "Grüße 👋")) as events:
        assert "".join(events.text_stream) == "Grüße 👋"
        final = events.get_final_message()
    assert (text_of(final), final.stop_reason) == ("Grüße 👋", "end_turn"), final
    assert final.usage.output_tokens > 0, final.usage
    raw = list(target.client.messages.create(**target.arguments("echo", "Hello", stream=True)))
    assert (raw[0].type, raw[-1].type) == ("message_start", "message_stop"), raw
    assert "".join(event.delta.text for event in raw if event.type == "content_block_delta") == "Hello"


def structured_output(target: Target) -> None:
    """An instance of the program's class, whole and as a stream."""
    arguments = target.arguments("text", "Describe Oslo.", output_format=City)
    answer = target.client.messages.parse(**arguments)
    assert isinstance(answer.parsed_output, City), answer
    with target.client.messages.stream(**arguments) as events:
        assert isinstance(events.get_final_message().parsed_output, City)


def tools(target: Target) -> None:
    """Two turns of a tool loop with thinking, in which each answer of the model is returned."""
    assert "18 degrees" in ask_weather(target, lambda arguments: target.client.messages.create(**arguments))


def tools_stream(target: Target) -> None:
    def call(arguments: dict[str, object]) -> anthropic.types.Message:
        with target.client.messages.stream(**arguments) as events:
            return events.get_final_message()

    assert "18 degrees" in ask_weather(target, call)


def ask_weather(target: Target, call: Callable[[dict[str, object]], anthropic.types.Message]) -> str:
    messages: list[object] = [{"role": "user", "content": "Weather in Paris?"}]
    thinking = {"type": "enabled", "budget_tokens": 2000}
    for _ in range(2):
        script = "reasoning:rounds=2"
        answer = call(target.arguments(script, messages, tools=[WEATHER], thinking=thinking))
        assert answer.stop_reason == "tool_use", answer
        messages.append({"role": "assistant", "content": answer.content})
        results = [to_result(block) for block in answer.content if block.type == "tool_use"]
        assert len(results) == 1, answer
        messages.append({"role": "user", "content": results})
    return text_of(call(target.arguments("reasoning:rounds=2", messages, tools=[WEATHER], thinking=thinking)))


def to_result(block: anthropic.types.ToolUseBlock) -> dict[str, object]:
    assert block.input == {"city": "Paris"}, block
    return {"type": "tool_result", "tool_use_id": block.id, "content": "18 degrees"}


def tool_runner(target: Target) -> None:
    """The SDK runs a function of the program. It first asks the provider to keep the conversation."""
    cities: list[str] = []

    @anthropic.beta_tool
    def get_weather(city: str) -> str:
        """The weather in a city."""
        cities.append(city)
        return "18 degrees"

    arguments = target.arguments("reasoning:rounds=2", "Weather in Paris?", tools=[get_weather])
    message = target.client.beta.messages.tool_runner(**arguments).until_done()
    assert "18 degrees" in text_of(message) and len(cities) == 2, (message, cities)


def parallel_tools(target: Target) -> None:
    """Two calls in one answer; one of the results is an error, the other has an image."""
    messages: list[object] = [{"role": "user", "content": "Weather in Paris and Oslo?"}]
    answer = target.create("tools:calls=2", messages, tools=[WEATHER])
    first, second = (block for block in answer.content if block.type == "tool_use")
    assert first.id != second.id, answer
    content = [{"type": "text", "text": "18 degrees"}, image_block()]
    results = [
        {"type": "tool_result", "tool_use_id": first.id, "content": "no such city", "is_error": True},
        {"type": "tool_result", "tool_use_id": second.id, "content": content},
    ]
    messages += [{"role": "assistant", "content": answer.content}, {"role": "user", "content": results}]
    told = text_of(target.create("tools:calls=2", messages, tools=[WEATHER]))
    assert "no such city" in told and "18 degrees" in told, told


def forced_tool(target: Target) -> None:
    answer = target.create("tools", tools=[WEATHER], tool_choice={"type": "tool", "name": "get_weather"})
    assert [block.type for block in answer.content][-1] == "tool_use", answer


def image_block() -> dict[str, object]:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}


def image(target: Target) -> None:
    assert text_of(target.create("text", [image_block(), {"type": "text", "text": "Which colour?"}]))


def thinking(target: Target) -> None:
    """The model's thinking is a block, whole and as a stream. OpenAI withholds its text."""
    arguments = target.arguments(
        "reasoning", "Why?", thinking={"type": "enabled", "budget_tokens": 2000}
    )
    whole = target.client.messages.create(**arguments)
    with target.client.messages.stream(**arguments) as events:
        streamed = events.get_final_message()
    kind = "redacted_thinking" if target.provider == "openai" else "thinking"
    for answer in (whole, streamed):
        # The state of Gemini's text is a block at the end.
        assert [block.type for block in answer.content][:2] == [kind, "text"], answer
        assert kind != "thinking" or answer.content[0].thinking, answer


def count_tokens(target: Target) -> None:
    arguments = target.arguments("text", "Hello " * 100, tools=[WEATHER])
    del arguments["max_tokens"]
    count = target.client.messages.count_tokens(**arguments)
    assert count.input_tokens > 50, count


def models(target: Target) -> None:
    """The list has pages, which the SDK follows."""
    found = [model.id for model in target.client.models.list(limit=20)]
    assert len(found) == len(set(found)) > 50, found
    assert target.client.models.retrieve(found[0]).id == found[0]


def failure_of(kind: type[anthropic.APIError], call: Callable[[], object]) -> anthropic.APIError:
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"the call succeeded, want {kind.__name__}")


def bad_request(target: Target) -> None:
    error = failure_of(anthropic.BadRequestError, lambda: target.create("text", max_tokens=-1))
    assert error.body["error"]["type"] == "invalid_request_error", error.body
    assert "max_tokens" in str(error), error


def not_found(target: Target) -> None:
    error = failure_of(anthropic.NotFoundError, lambda: target.create("text:status=404"))
    assert error.body["error"]["type"] == "not_found_error", error.body


def rate_limit(target: Target) -> None:
    call = lambda: target.create("text:status=429,retry_after=2")
    error = failure_of(anthropic.RateLimitError, call)
    assert error.response.headers["retry-after"] == "2", error.response.headers
    assert error.body["error"]["type"] == "rate_limit_error", error.body


def server_error(target: Target) -> None:
    error = failure_of(anthropic.InternalServerError, lambda: target.create("text:status=503"))
    assert error.request_id, error.response.headers
    assert target.create("text")._request_id


def retries(target: Target) -> None:
    """The SDK makes a failed call again, as it does with Anthropic."""
    patient = Target(target.client.with_options(max_retries=2), target.provider)
    # The simulator counts failures for each name of a model.
    assert text_of(patient.create(f"text:status=503,times=1,delay_ms={time.time_ns() % 400}"))


def cut_stream(target: Target) -> None:
    kinds: list[str] = []

    def read() -> None:
        arguments = target.arguments("long:tokens=50,cut_events=20")
        for event in target.client.messages.create(**arguments, stream=True):
            kinds.append(event.type)

    failure_of(anthropic.APIError, read)
    assert "content_block_delta" in kinds and "message_stop" not in kinds, kinds


CHECKS = (
    text,
    max_tokens,
    stream,
    structured_output,
    tools,
    tools_stream,
    tool_runner,
    parallel_tools,
    forced_tool,
    image,
    thinking,
    count_tokens,
    models,
    bad_request,
    not_found,
    rate_limit,
    server_error,
    retries,
    cut_stream,
)

if __name__ == "__main__":
    client = anthropic.Anthropic(
        base_url=f"http://{os.environ['OUTRIGGER_ADDR']}", api_key="any", max_retries=0
    )
    sys.exit(run_checks(lambda provider: Target(client, provider), CHECKS))
