"""Calls a sidecar's Gemini API with Google's SDK for Python, the way a program does that was written for Gemini: only the
base URL and the names of the models differ. Each check runs for every provider.
"""

import base64
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass

from checks import run_checks
from google import genai
from google.genai import errors, types
from pydantic import BaseModel

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@dataclass(frozen=True)
class Target:
    """A provider behind the sidecar."""

    client: genai.Client
    provider: str

    def model(self, script: str) -> str:
        """The full name of a model of the provider's simulator, such as `anthropic/sim-tools:calls=2`."""
        return f"{self.provider}/sim-{script}"

    def generate(self, script: str, contents: object = "Hello", **config: object):
        return self.client.models.generate_content(
            model=self.model(script), contents=contents, config=to_config(config)
        )

    def stream(self, script: str, contents: object = "Hello", **config: object):
        return self.client.models.generate_content_stream(
            model=self.model(script), contents=contents, config=to_config(config)
        )


def to_config(config: dict[str, object]) -> types.GenerateContentConfig:
    return types.GenerateContentConfig(**{"max_output_tokens": 5000, **config})


class City(BaseModel):
    name: str
    inhabitants: int


def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"18 degrees in {city}"


WEATHER = types.Tool(
    function_declarations=[
        types.FunctionDeclaration(
            name="get_weather",
            parameters=types.Schema(
                type=types.Type.OBJECT, properties={"city": types.Schema(type=types.Type.STRING)}
            ),
        )
    ]
)


def text(target: Target) -> None:
    answer = target.generate("echo", "Grüße 👋", system_instruction="Repeat.", temperature=0.5)
    assert answer.text == "Grüße 👋", answer.text
    assert answer.candidates[0].finish_reason == types.FinishReason.STOP
    usage = answer.usage_metadata
    assert usage.prompt_token_count > 0 and usage.candidates_token_count > 0, usage


def stream(target: Target) -> None:
    chunks = list(target.stream("echo", "Grüße 👋"))
    assert "".join(chunk.text or "" for chunk in chunks) == "Grüße 👋"
    assert [chunk.candidates[0].finish_reason for chunk in chunks][-1] == types.FinishReason.STOP
    assert chunks[-1].usage_metadata.total_token_count > 0


def structured_output(target: Target) -> None:
    config = {"response_mime_type": "application/json"}
    answer = target.generate("text", "Describe Oslo.", response_schema=City, **config)
    assert isinstance(answer.parsed, City), answer.text
    schema = City.model_json_schema()
    answer = target.generate("text", "Describe Oslo.", response_json_schema=schema, **config)
    City.model_validate_json(answer.text)


def tools(target: Target) -> None:
    """Two turns of a tool loop, in which each answer of the model is returned."""
    contents = [types.UserContent("Weather in Paris?")]
    for _ in range(2):
        answer = target.generate("reasoning:rounds=2", contents, tools=[WEATHER], **thinking())
        contents.append(answer.candidates[0].content)
        contents.append(to_result(answer.function_calls[0]))
    answer = target.generate("reasoning:rounds=2", contents, tools=[WEATHER], **thinking())
    assert "18 degrees" in answer.text, answer.text


def tools_stream(target: Target) -> None:
    """The same with the contents of all chunks, as the SDK's chats keep them."""
    contents = [types.UserContent("Weather in Paris?")]
    chunks = list(target.stream("reasoning", contents, tools=[WEATHER], **thinking()))
    contents += [chunk.candidates[0].content for chunk in chunks]
    contents.append(to_result(next(chunk.function_calls[0] for chunk in chunks if chunk.function_calls)))
    answer = target.generate("reasoning", contents, tools=[WEATHER], **thinking())
    assert "18 degrees" in answer.text, answer.text


def thinking() -> dict[str, object]:
    return {"thinking_config": types.ThinkingConfig(thinking_budget=2000, include_thoughts=True)}


def to_result(call: types.FunctionCall) -> types.Content:
    response = types.FunctionResponse(id=call.id, name=call.name, response={"output": "18 degrees"})
    return types.Content(role="user", parts=[types.Part(function_response=response)])


def automatic_calls(target: Target) -> None:
    """The SDK runs a function of the program."""
    answer = target.generate("tools", "Weather in Paris?", tools=[get_weather])
    assert "18 degrees" in answer.text, answer.text


def image(target: Target) -> None:
    part = types.Part.from_bytes(data=PIXEL, mime_type="image/png")
    assert target.generate("text", ["Which colour?", part]).text


def count_tokens(target: Target) -> None:
    count = target.client.models.count_tokens(model=target.model("text"), contents="Hello " * 100)
    assert count.total_tokens > 50, count


def embeddings(target: Target) -> None:
    """Several texts are one call of `batchEmbedContents`. Anthropic has no embeddings."""
    embed = lambda: target.client.models.embed_content(
        model=target.model("text"),
        contents=["Grüße 👋", "Hello", "Hello"],
        config=types.EmbedContentConfig(output_dimensionality=8),
    )
    if target.provider == "anthropic":
        assert failure_of(errors.ClientError, embed).code == 400
        return
    first, second, third = [each.values for each in embed().embeddings]
    assert len(first) == 8 and second == third != first, (first, second, third)


def models(target: Target) -> None:
    names = [model.name for model in target.client.models.list(config={"page_size": 50})]
    assert len(names) == len(set(names)) > 50, names
    assert target.client.models.get(model=names[0]).name == names[0]


def failure_of(kind: type[errors.APIError], call: Callable[[], object]) -> errors.APIError:
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"the call succeeded, want {kind.__name__}")


def bad_request(target: Target) -> None:
    error = failure_of(errors.ClientError, lambda: target.generate("text", candidate_count=2))
    assert (error.code, error.status) == (400, "INVALID_ARGUMENT"), error
    # Gemini answers for itself: such a call is relayed.
    answer = "Multiple candidates" if target.provider == "gemini" else "generationConfig.candidateCount"
    assert answer in json.dumps(error.details), error.details


def rate_limit(target: Target) -> None:
    error = failure_of(
        errors.ClientError, lambda: target.generate("text:status=429,retry_after=2")
    )
    assert (error.code, error.status) == (429, "RESOURCE_EXHAUSTED"), error
    delays = [detail.get("retryDelay") for detail in error.details["error"]["details"]]
    assert "2s" in delays, delays


def server_error(target: Target) -> None:
    error = failure_of(errors.ServerError, lambda: target.generate("text:status=503"))
    assert (error.code, error.status) == (503, "UNAVAILABLE"), error


def cut_stream(target: Target) -> None:
    chunks: list[types.GenerateContentResponse] = []
    error = failure_of(
        errors.ServerError, lambda: chunks.extend(target.stream("long:tokens=50,cut_events=20"))
    )
    assert error.status == "UNAVAILABLE", error
    assert all(not chunk.candidates[0].finish_reason for chunk in chunks)


CHECKS = (
    text,
    stream,
    structured_output,
    tools,
    tools_stream,
    automatic_calls,
    image,
    count_tokens,
    embeddings,
    models,
    bad_request,
    rate_limit,
    server_error,
    cut_stream,
)

if __name__ == "__main__":
    options = types.HttpOptions(
        base_url=f"http://{os.environ['OUTRIGGER_ADDR']}",
        retry_options=types.HttpRetryOptions(attempts=1),
    )
    client = genai.Client(api_key="any", http_options=options)
    sys.exit(run_checks(lambda provider: Target(client, provider), CHECKS))
