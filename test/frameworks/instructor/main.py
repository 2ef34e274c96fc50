"""instructor, in its modes for Chat Completions and the Responses API. It has no tool loop: each answer is an instance of a schema."""

from collections.abc import AsyncIterator

import instructor
from openai import AsyncOpenAI
from pydantic import BaseModel

from harness import API, API_KEY, BASE_URL, Target, check_failure, main

MODE = instructor.Mode.RESPONSES_TOOLS if API == "responses" else instructor.Mode.TOOLS
CLIENT = instructor.from_openai(AsyncOpenAI(base_url=BASE_URL, api_key=API_KEY), mode=MODE)


class City(BaseModel):
    """A city."""

    name: str
    people: int


QUESTION = {"role": "user", "content": "Describe Paris."}


async def describe(model: str, messages: list[dict[str, str]]) -> City:
    if API == "responses":
        return await CLIENT.responses.create(model=model, input=messages, response_model=City)
    return await CLIENT.chat.completions.create(model=model, messages=messages, response_model=City)


async def structured_output(target: Target) -> None:
    city = await describe(target.model, [QUESTION])
    assert isinstance(city, City) and city.name, city


async def stream(target: Target) -> None:
    partial = [city async for city in read_partial(target.model)]
    # Gemini sends the arguments of a call in one piece.
    assert len(partial) > (0 if target.api == "gemini" else 2), partial
    City.model_validate(partial[-1].model_dump())


async def second_turn(target: Target) -> None:
    first = await describe(target.model, [QUESTION])
    answer = {"role": "assistant", "content": first.model_dump_json()}
    second = await describe(target.model, [QUESTION, answer, {"role": "user", "content": "And Oslo."}])
    assert isinstance(second, City), second


async def stream_failure(target: Target) -> None:
    await check_failure(read_partial(target.failing_call), after_output=False)


async def read_partial(model: str) -> AsyncIterator[BaseModel]:
    if API == "responses":
        parts = CLIENT.responses.create_partial(model=model, input=[QUESTION], response_model=City)
    else:
        parts = CLIENT.chat.completions.create_partial(model=model, messages=[QUESTION], response_model=City)
    async for city in parts:
        yield city


main([structured_output, stream, second_turn, stream_failure])
