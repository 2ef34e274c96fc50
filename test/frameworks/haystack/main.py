"""Haystack: its agent, and its chat generator for the Responses API."""

from collections.abc import AsyncIterator

from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIResponsesChatGenerator
from haystack.dataclasses import ChatMessage, StreamingChunk
from haystack.tools import Tool
from haystack.utils import Secret
from pydantic import BaseModel

from harness import (
    API_KEY,
    BASE_URL,
    NEXT_QUESTION,
    QUESTION,
    Target,
    Weather,
    check_answer,
    check_deltas,
    check_failure,
    main,
)

PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


class City(BaseModel):
    name: str
    people: int


def generator(model: str, **settings: object) -> OpenAIResponsesChatGenerator:
    return OpenAIResponsesChatGenerator(
        model=model, api_base_url=BASE_URL, api_key=Secret.from_token(API_KEY), **settings
    )


def agent(target: Target, weather: Weather, **settings: object) -> Agent:
    tool = Tool("get_weather", "Returns the weather of a city.", PARAMETERS, function=weather.get_weather)
    return Agent(chat_generator=generator(target.bound), tools=[tool], system_prompt="Be brief.", **settings)


def tools(target: Target) -> None:
    weather = Weather()
    result = agent(target, weather).run(messages=[ChatMessage.from_user(QUESTION)])
    check_answer(result["last_message"].text, weather)


def stream(target: Target) -> None:
    weather = Weather()
    deltas: list[str] = []

    def receive(chunk: StreamingChunk) -> None:
        if chunk.content:
            deltas.append(chunk.content)

    assistant = agent(target, weather, streaming_callback=receive)
    result = assistant.run(messages=[ChatMessage.from_user(QUESTION)])
    check_answer(result["last_message"].text, weather)
    check_deltas(deltas, result["last_message"].text)


def structured_output(target: Target) -> None:
    describer = generator(target.model, generation_kwargs={"text_format": City})
    result = describer.run([ChatMessage.from_user("Describe Paris.")])
    City.model_validate_json(result["replies"][0].text)


def second_turn(target: Target) -> None:
    weather = Weather()
    assistant = agent(target, weather)
    first = assistant.run(messages=[ChatMessage.from_user(QUESTION)])
    second = assistant.run(messages=[*first["messages"], ChatMessage.from_user(NEXT_QUESTION)])
    check_answer(second["last_message"].text, weather, calls=2)


async def stream_failure(target: Target) -> None:
    await check_failure(read_deltas(target.failing))


async def read_deltas(model: str) -> AsyncIterator[str]:
    """Haystack gives the deltas to a function, so they are repeated after the failure."""
    deltas: list[str] = []

    async def receive(chunk: StreamingChunk) -> None:
        if chunk.content:
            deltas.append(chunk.content)

    try:
        await generator(model, streaming_callback=receive).run_async([ChatMessage.from_user(QUESTION)])
    finally:
        for delta in deltas:
            yield delta


main([tools, stream, structured_output, second_turn, stream_failure])
