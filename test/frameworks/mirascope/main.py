"""Mirascope, over the Responses API, or with the argument `anthropic` over the Messages API."""

from collections.abc import AsyncIterator

from mirascope import llm
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
    name: str
    people: int


llm.register_provider(
    "anthropic" if API == "anthropic" else "openai",
    scope=["openai/", "anthropic/", "gemini/", "compatible/"],
    base_url=ORIGIN if API == "anthropic" else BASE_URL,
    api_key=API_KEY,
)


def weather_tool(weather: Weather) -> llm.Tool:
    @llm.tool
    def get_weather(city: str) -> str:
        """Returns the weather of a city."""
        return weather.get_weather(city)

    return get_weather


def finish(response: llm.Response) -> llm.Response:
    while response.tool_calls:
        response = response.resume(response.execute_tools())
    return response


def tools(target: Target) -> None:
    weather = Weather()
    response = finish(llm.model(target.model).call(QUESTION, tools=[weather_tool(weather)]))
    check_answer(response.text(), weather)


def stream(target: Target) -> None:
    weather = Weather()
    response = llm.model(target.model).stream(QUESTION, tools=[weather_tool(weather)])
    list(response.text_stream())
    response = response.resume(response.execute_tools())
    # By default, a line break follows each part, even the last one.
    deltas = list(response.text_stream(sep=""))
    text = response.text(sep="")
    check_answer(text, weather)
    check_deltas(deltas, text)


def structured_output(target: Target) -> None:
    city = llm.model(target.model).call("Describe Paris.", format=City).parse()
    assert isinstance(city, City), city


def second_turn(target: Target) -> None:
    weather = Weather()
    first = finish(llm.model(target.model).call(QUESTION, tools=[weather_tool(weather)]))
    second = finish(first.resume(NEXT_QUESTION))
    check_answer(second.text(), weather, calls=2)


async def stream_failure(target: Target) -> None:
    await check_failure(read_deltas(target.failing))


async def read_deltas(model: str) -> AsyncIterator[str]:
    for delta in llm.model(model).stream(QUESTION).text_stream():
        yield delta


main([tools, stream, structured_output, second_turn, stream_failure])
