"""DSPy, whose model has modes for Chat Completions and the Responses API. DSPy's programs ask for answers in a text format, so the model
that answers them repeats what it is told. They call tools in that format too, unless DSPy knows the model; the check of
tools calls the model itself.
"""

import json
from collections.abc import AsyncIterator

import dspy
from pydantic import BaseModel

from harness import API, API_KEY, BASE_URL, NEXT_QUESTION, QUESTION, Target, Weather, check_failure, main

ANSWER = "four words and more"
SCRIPTED = f"{QUESTION}\n\n[[ ## answer ## ]]\n{ANSWER}\n\n[[ ## completed ## ]]\n"


class City(BaseModel):
    name: str
    people: int


def model(name: str) -> dspy.LM:
    # The first part of the name is the API that DSPy speaks; the sidecar gets the rest.
    return dspy.LM(f"openai/{name}", model_type=API, api_base=BASE_URL, api_key=API_KEY, cache=False)


def read_text(output: str | dict[str, str]) -> str:
    """An answer is a text, or a dictionary if it has more, such as reasoning."""
    return output if isinstance(output, str) else output["text"]


async def predict(target: Target) -> None:
    with dspy.context(lm=model(target.echo)):
        result = await dspy.Predict("question -> answer").acall(question=SCRIPTED)
    assert result.answer == ANSWER, result


async def tools(target: Target) -> None:
    weather = Weather()
    tool = dspy.Tool(weather.get_weather)
    (output,) = await model(target.model).acall(QUESTION, tools=[tool.format_as_litellm_function_call()])
    (call,) = output["tool_calls"]
    assert call["function"]["name"] == "get_weather", call
    tool(**json.loads(call["function"]["arguments"]))


async def stream(target: Target) -> None:
    deltas = [delta async for delta in read_deltas(target.echo)]
    assert len(deltas) > 2 and "".join(deltas).startswith(ANSWER), deltas


async def structured_output(target: Target) -> None:
    (output,) = await model(target.model).acall("Describe Paris.", response_format=City)
    City.model_validate_json(read_text(output))


async def second_turn(target: Target) -> None:
    lm = model(target.model)
    question = {"role": "user", "content": QUESTION}
    (first,) = await lm.acall(messages=[question])
    history = [question, {"role": "assistant", "content": read_text(first)}, {"role": "user", "content": NEXT_QUESTION}]
    (second,) = await lm.acall(messages=history)
    assert NEXT_QUESTION in read_text(second), second


async def stream_failure(target: Target) -> None:
    await check_failure(read_deltas(target.failing_echo))


async def read_deltas(name: str) -> AsyncIterator[str]:
    listener = dspy.streaming.StreamListener(signature_field_name="answer")
    program = dspy.streamify(dspy.Predict("question -> answer"), stream_listeners=[listener])
    with dspy.context(lm=model(name)):
        async for part in program(question=SCRIPTED):
            if isinstance(part, dspy.streaming.StreamResponse):
                yield part.chunk


main([predict, tools, stream, structured_output, second_turn, stream_failure])
