"""Pydantic AI, with its models for each API."""

from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.providers.openai import OpenAIProvider

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


def open_model(name: str) -> Model:
    match API:
        case "chat":
            return OpenAIChatModel(name, provider=OpenAIProvider(base_url=BASE_URL, api_key=API_KEY))
        case "anthropic":
            return AnthropicModel(name, provider=AnthropicProvider(base_url=ORIGIN, api_key=API_KEY))
        case "google":
            return GoogleModel(name, provider=GoogleProvider(base_url=ORIGIN, api_key=API_KEY))
        case _:
            return OpenAIResponsesModel(name, provider=OpenAIProvider(base_url=BASE_URL, api_key=API_KEY))


class City(BaseModel):
    name: str
    people: int


def agent(model: str, weather: Weather) -> Agent:
    return Agent(
        open_model(model),
        instructions="Be brief.",
        tools=[weather.get_weather],
    )


async def tools(target: Target) -> None:
    weather = Weather()
    result = await agent(target.model, weather).run(QUESTION)
    check_answer(result.output, weather)


async def stream(target: Target) -> None:
    weather = Weather()
    async with agent(target.model, weather).run_stream(QUESTION) as result:
        deltas = [delta async for delta in result.stream_text(delta=True, debounce_by=None)]
        output = await result.get_output()
    check_answer(output, weather)
    check_deltas(deltas, output)


async def structured_output(target: Target) -> None:
    for model in {target.model, target.bound}:
        describer = Agent(open_model(model), output_type=City)
        result = await describer.run("Describe Paris.")
        assert isinstance(result.output, City), result.output


async def second_turn(target: Target) -> None:
    weather = Weather()
    assistant = agent(target.model, weather)
    first = await assistant.run(QUESTION)
    second = await assistant.run(NEXT_QUESTION, message_history=first.all_messages())
    check_answer(second.output, weather, calls=2)


async def stream_failure(target: Target) -> None:
    async with agent(target.failing, Weather()).run_stream(QUESTION) as result:
        await check_failure(result.stream_text(delta=True, debounce_by=None))


main([tools, stream, structured_output, second_turn, stream_failure])
