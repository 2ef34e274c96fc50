"""LangChain for Python: its agent, and its models for each API."""

from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk
from langchain_google_genai import ChatGoogleGenerativeAI
from langchain_openai import ChatOpenAI
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


class City(BaseModel):
    """A city."""

    name: str
    people: int


def chat(model: str) -> BaseChatModel:
    match API:
        case "anthropic":
            return ChatAnthropic(model=model, base_url=ORIGIN, api_key=API_KEY)
        case "google":
            return ChatGoogleGenerativeAI(model=model, base_url=ORIGIN, api_key=API_KEY)
        case _:
            uses_responses = API == "responses"
            return ChatOpenAI(model=model, base_url=BASE_URL, api_key=API_KEY, use_responses_api=uses_responses)


def agent(target: Target, weather: Weather):
    return create_agent(chat(target.model), tools=[weather.get_weather], system_prompt="Be brief.")


async def tools(target: Target) -> None:
    weather = Weather()
    result = await agent(target, weather).ainvoke({"messages": [("user", QUESTION)]})
    check_answer(result["messages"][-1].text, weather)


async def stream(target: Target) -> None:
    weather = Weather()
    deltas = []
    parts = agent(target, weather).astream({"messages": [("user", QUESTION)]}, stream_mode=["messages", "values"])
    async for mode, part in parts:
        if mode == "values":
            last = part["messages"][-1]
        elif isinstance(part[0], AIMessageChunk) and part[0].text:
            deltas.append(part[0].text)
    check_answer(last.text, weather)
    check_deltas(deltas, last.text)


async def structured_output(target: Target) -> None:
    for model in {target.model, target.bound}:
        describer = create_agent(chat(model), response_format=City)
        result = await describer.ainvoke({"messages": [("user", "Describe Paris.")]})
        assert isinstance(result["structured_response"], City), result
    city = await chat(target.model).with_structured_output(City).ainvoke("Describe Paris.")
    assert isinstance(city, City), city


async def second_turn(target: Target) -> None:
    weather = Weather()
    assistant = agent(target, weather)
    first = await assistant.ainvoke({"messages": [("user", QUESTION)]})
    second = await assistant.ainvoke({"messages": [*first["messages"], ("user", NEXT_QUESTION)]})
    check_answer(second["messages"][-1].text, weather, calls=2)


async def stream_failure(target: Target) -> None:
    await check_failure(chunk.text async for chunk in chat(target.failing).astream(QUESTION) if chunk.text)


main([tools, stream, structured_output, second_turn, stream_failure])
