"""instructor, in its mode for the Responses API. It has no tool loop: each answer is an instance of a schema."""

from collections.abc import AsyncIterator

import instructor
from openai import AsyncOpenAI
from pydantic import BaseModel

from harness import API_KEY, BASE_URL, Target, check_failure, main

CLIENT = instructor.from_openai(
    AsyncOpenAI(base_url=BASE_URL, api_key=API_KEY), mode=instructor.Mode.RESPONSES_TOOLS
)


class City(BaseModel):
    """A city."""

    name: str
    people: int


async def structured_output(target: Target) -> None:
    city = await CLIENT.responses.create(model=target.model, input="Describe Paris.", response_model=City)
    assert isinstance(city, City) and city.name, city


async def stream(target: Target) -> None:
    partial = [city async for city in read_partial(target.model)]
    # Gemini sends the arguments of a call in one piece.
    assert len(partial) > (0 if target.api == "gemini" else 2), partial
    City.model_validate(partial[-1].model_dump())


async def second_turn(target: Target) -> None:
    question = {"role": "user", "content": "Describe Paris."}
    first = await CLIENT.responses.create(model=target.model, input=[question], response_model=City)
    answer = {"role": "assistant", "content": first.model_dump_json()}
    history = [question, answer, {"role": "user", "content": "And Oslo."}]
    second = await CLIENT.responses.create(model=target.model, input=history, response_model=City)
    assert isinstance(second, City), second


async def stream_failure(target: Target) -> None:
    await check_failure(read_partial(target.failing_call), after_output=False)


async def read_partial(model: str) -> AsyncIterator[BaseModel]:
    async for city in CLIENT.responses.create_partial(model=model, input="Describe Paris.", response_model=City):
        yield city


main([structured_output, stream, second_turn, stream_failure])
