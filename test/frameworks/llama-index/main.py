"""LlamaIndex: its agent, and its models for servers with OpenAI's APIs."""

from collections.abc import AsyncIterator

from llama_index.core.agent.workflow import AgentStream, FunctionAgent
from llama_index.core.llms import ChatMessage
from llama_index.core.workflow import Context
from llama_index.llms.openai_like import OpenAILike, OpenAILikeResponses
from pydantic import BaseModel

from harness import (
    API,
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


def llm(model: str, **settings: object) -> OpenAILike | OpenAILikeResponses:
    if API == "chat":
        address = {"api_base": BASE_URL, "api_key": API_KEY}
        return OpenAILike(model=model, **address, is_chat_model=True, is_function_calling_model=True)
    # `OpenAIResponses` refuses models whose names it does not know.
    return OpenAILikeResponses(
        model=model, api_base=BASE_URL, api_key=API_KEY, is_function_calling_model=True, **settings
    )


def agent(target: Target, weather: Weather, **settings: object) -> FunctionAgent:
    return FunctionAgent(llm=llm(target.model, **settings), tools=[weather.get_weather], system_prompt="Be brief.")


async def tools(target: Target) -> None:
    weather = Weather()
    result = await agent(target, weather).run(QUESTION)
    check_answer(result.response.content, weather)


async def stream(target: Target) -> None:
    weather = Weather()
    handler = agent(target, weather).run(QUESTION)
    deltas = [event.delta async for event in handler.stream_events() if isinstance(event, AgentStream) and event.delta]
    result = await handler
    check_answer(result.response.content, weather)
    check_deltas(deltas, result.response.content)


async def structured_output(target: Target) -> None:
    response = await llm(target.model).as_structured_llm(City).achat([ChatMessage("Describe Paris.")])
    assert isinstance(response.raw, City), response


async def second_turn(target: Target) -> None:
    weather = Weather()
    assistant = agent(target, weather)
    context = Context(assistant)
    await assistant.run(QUESTION, ctx=context)
    second = await assistant.run(NEXT_QUESTION, ctx=context)
    check_answer(second.response.content, weather, calls=2)


async def stored_second_turn(target: Target) -> None:
    """Reasoning that the framework leaves out is found in the stored responses."""
    weather = Weather()
    assistant = agent(target, weather, store=True)
    context = Context(assistant)
    await assistant.run(QUESTION, ctx=context)
    second = await assistant.run(NEXT_QUESTION, ctx=context)
    check_answer(second.response.content, weather, calls=2)


async def stream_failure(target: Target) -> None:
    await check_failure(read_deltas(target.failing))


async def read_deltas(model: str) -> AsyncIterator[str]:
    async for response in await llm(model).astream_chat([ChatMessage(QUESTION)]):
        if response.delta:
            yield response.delta


STORED = [stored_second_turn] if API == "responses" else []

main([tools, stream, structured_output, second_turn, *STORED, stream_failure])
