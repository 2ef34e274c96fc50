"""Agno, with its model for servers with the Responses API."""

from collections.abc import AsyncIterator

from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.models.openai import OpenAIResponses
from agno.run.agent import RunContentEvent, RunErrorEvent, RunEvent
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


class City(BaseModel):
    name: str
    people: int


def agent(model: str, **settings: object) -> Agent:
    # Without `telemetry=False`, Agno reports runs to its vendor.
    responses = OpenAIResponses(id=model, base_url=BASE_URL, api_key=API_KEY)
    return Agent(model=responses, instructions="Be brief.", telemetry=False, **settings)


async def tools(target: Target) -> None:
    weather = Weather()
    result = await agent(target.model, tools=[weather.get_weather]).arun(QUESTION)
    check_answer(result.content, weather)


async def stream(target: Target) -> None:
    weather = Weather()
    deltas = []
    content = None
    async for event in agent(target.model, tools=[weather.get_weather]).arun(QUESTION, stream=True, stream_events=True):
        if isinstance(event, RunContentEvent) and event.content:
            deltas.append(event.content)
        elif event.event == RunEvent.run_completed.value:
            content = event.content
    check_answer(content, weather)
    check_deltas(deltas, content)


async def structured_output(target: Target) -> None:
    result = await agent(target.model, output_schema=City).arun("Describe Paris.")
    assert isinstance(result.content, City), result.content


async def second_turn(target: Target) -> None:
    weather = Weather()
    assistant = agent(
        target.model, tools=[weather.get_weather], db=InMemoryDb(), add_history_to_context=True, session_id=target.api
    )
    await assistant.arun(QUESTION)
    second = await assistant.arun(NEXT_QUESTION)
    check_answer(second.content, weather, calls=2)


async def stream_failure(target: Target) -> None:
    await check_failure(read_deltas(agent(target.failing)))


async def read_deltas(assistant: Agent) -> AsyncIterator[str]:
    async for event in assistant.arun(QUESTION, stream=True):
        if isinstance(event, RunErrorEvent):
            raise RuntimeError(event.content)
        if isinstance(event, RunContentEvent) and event.content:
            yield event.content


main([tools, stream, structured_output, second_turn, stream_failure])
