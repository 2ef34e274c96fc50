"""LiteLLM's SDK as a client: of Chat Completions, and of the Messages API."""

import json
from collections.abc import AsyncIterator

import litellm
from pydantic import BaseModel

from harness import (
    API,
    API_KEY,
    BASE_URL,
    NEXT_QUESTION,
    ORIGIN,
    QUESTION,
    Target,
    Weather,
    check_answer,
    check_deltas,
    check_failure,
    main,
)

TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Returns the weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


class City(BaseModel):
    name: str
    people: int


def settings(model: str) -> dict[str, object]:
    # The first part of the name is the API that LiteLLM speaks; the sidecar gets the rest.
    if API == "anthropic":
        return {"model": f"anthropic/{model}", "api_base": ORIGIN, "api_key": API_KEY}
    return {"model": f"openai/{model}", "api_base": BASE_URL, "api_key": API_KEY}


async def ask(model: str, messages: list, weather: Weather) -> str:
    """Adds the answer to the messages, with the calls before it and their results."""
    while True:
        response = await litellm.acompletion(**settings(model), messages=messages, tools=[TOOL])
        message = response.choices[0].message
        messages.append(message)
        if not message.tool_calls:
            return message.content
        for call in message.tool_calls:
            result = weather.get_weather(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


async def tools(target: Target) -> None:
    weather = Weather()
    check_answer(await ask(target.model, [{"role": "user", "content": QUESTION}], weather), weather)


async def stream(target: Target) -> None:
    weather = Weather()
    messages: list = [{"role": "user", "content": QUESTION}]
    chunks = []
    for _ in range(2):
        parts = await litellm.acompletion(**settings(target.model), messages=messages, tools=[TOOL], stream=True)
        chunks = [chunk async for chunk in parts]
        message = litellm.stream_chunk_builder(chunks, messages=messages).choices[0].message
        messages.append(message)
        for call in message.tool_calls or []:
            result = weather.get_weather(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
    deltas = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices[0].delta.content]
    check_answer(message.content, weather)
    check_deltas(deltas, message.content)


async def structured_output(target: Target) -> None:
    messages = [{"role": "user", "content": "Describe Paris."}]
    response = await litellm.acompletion(**settings(target.model), messages=messages, response_format=City)
    City.model_validate_json(response.choices[0].message.content)


async def second_turn(target: Target) -> None:
    weather = Weather()
    messages: list = [{"role": "user", "content": QUESTION}]
    await ask(target.model, messages, weather)
    messages.append({"role": "user", "content": NEXT_QUESTION})
    check_answer(await ask(target.model, messages, weather), weather, calls=2)


async def stream_failure(target: Target) -> None:
    await check_failure(read_deltas(target.failing))


async def read_deltas(model: str) -> AsyncIterator[str]:
    messages = [{"role": "user", "content": QUESTION}]
    async for chunk in await litellm.acompletion(**settings(model), messages=messages, stream=True):
        if chunk.choices[0].delta.content:
            yield chunk.choices[0].delta.content


main([tools, stream, structured_output, second_turn, stream_failure])
