"""Strands Agents, with its model for the Responses API."""

from collections.abc import AsyncIterator

from pydantic import BaseModel
from strands import Agent, tool
from strands.models.openai_responses import OpenAIResponsesModel

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


class City(BaseModel):
    """A city."""

    name: str
    people: int


def agent(model: str, stateful: bool = False, **settings: object) -> Agent:
    client_args = {"base_url": BASE_URL, "api_key": API_KEY}
    responses = OpenAIResponsesModel(client_args=client_args, model_id=model, stateful=stateful)
    # Without a handler, an agent prints what it does.
    return Agent(model=responses, system_prompt="Be brief.", callback_handler=None, **settings)


def weather_tool(weather: Weather):
    @tool
    def get_weather(city: str) -> str:
        """Returns the weather of a city.

        Args:
            city: The name of the city.
        """
        return weather.get_weather(city)

    return get_weather


async def tools(target: Target) -> None:
    weather = Weather()
    result = await agent(target.model, tools=[weather_tool(weather)]).invoke_async(QUESTION)
    check_answer(str(result).strip(), weather)


async def stream(target: Target) -> None:
    weather = Weather()
    deltas = []
    result = None
    async for event in agent(target.model, tools=[weather_tool(weather)]).stream_async(QUESTION):
        if "data" in event:
            deltas.append(event["data"])
        elif "result" in event:
            result = event["result"]
    text = result.message["content"][-1]["text"]
    check_answer(text, weather)
    check_deltas(deltas, text)


async def structured_output(target: Target) -> None:
    result = await agent(target.model).invoke_async("Describe Paris.", structured_output_model=City)
    assert isinstance(result.structured_output, City), result


async def second_turn(target: Target) -> None:
    weather = Weather()
    assistant = agent(target.model, tools=[weather_tool(weather)])
    await assistant.invoke_async(QUESTION)
    second = await assistant.invoke_async(NEXT_QUESTION)
    check_answer(str(second).strip(), weather, calls=2)


async def stateful_second_turn(target: Target) -> None:
    """Reasoning that the framework leaves out is found in the stored responses."""
    weather = Weather()
    assistant = agent(target.model, stateful=True, tools=[weather_tool(weather)])
    await assistant.invoke_async(QUESTION)
    second = await assistant.invoke_async(NEXT_QUESTION)
    check_answer(str(second).strip(), weather, calls=2)


async def stream_failure(target: Target) -> None:
    await check_failure(read_deltas(agent(target.failing)))


async def read_deltas(assistant: Agent) -> AsyncIterator[str]:
    async for event in assistant.stream_async(QUESTION):
        if "data" in event:
            yield event["data"]


main([tools, stream, structured_output, second_turn, stateful_second_turn, stream_failure])
