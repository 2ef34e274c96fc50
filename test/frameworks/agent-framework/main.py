"""Microsoft's Agent Framework, whose client for OpenAI uses the Responses API."""

from collections.abc import AsyncIterable, AsyncIterator

from agent_framework import Agent, AgentResponseUpdate
from agent_framework.openai import OpenAIChatClient
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
    client = OpenAIChatClient(model=model, base_url=BASE_URL, api_key=API_KEY)
    return Agent(client=client, instructions="Be brief.", **settings)


async def tools(target: Target) -> None:
    weather = Weather()
    result = await agent(target.model, tools=[weather.get_weather]).run(QUESTION)
    check_answer(result.text, weather)


async def stream(target: Target) -> None:
    weather = Weather()
    updates = agent(target.model, tools=[weather.get_weather]).run(QUESTION, stream=True)
    deltas = [delta async for delta in read_deltas(updates)]
    result = await updates.get_final_response()
    check_answer(result.text, weather)
    check_deltas(deltas, result.text)


async def structured_output(target: Target) -> None:
    result = await agent(target.model).run("Describe Paris.", options={"response_format": City})
    assert isinstance(result.value, City), result.text


async def second_turn(target: Target) -> None:
    weather = Weather()
    assistant = agent(target.model, tools=[weather.get_weather])
    session = assistant.create_session()
    await assistant.run(QUESTION, session=session)
    second = await assistant.run(NEXT_QUESTION, session=session)
    check_answer(second.text, weather, calls=2)


async def stream_failure(target: Target) -> None:
    await check_failure(read_deltas(agent(target.failing).run(QUESTION, stream=True)))


async def read_deltas(updates: AsyncIterable[AgentResponseUpdate]) -> AsyncIterator[str]:
    """The last update of a text has all of it, to replace what came before."""
    async for update in updates:
        for content in update.contents:
            if content.type == "text" and content.text and content.merge_mode != "replace":
                yield content.text


main([tools, stream, structured_output, second_turn, stream_failure])
