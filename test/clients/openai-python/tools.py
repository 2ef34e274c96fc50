"""Conversations in which the model calls a function: the three ways to give it the results."""

import json

from openai import NotFoundError
from openai.types.responses import Response

from target import Target

WEATHER = {
    "type": "function",
    "name": "get_weather",
    "description": "Returns the weather of a city.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
    "strict": True,
}

QUESTION = "How is the weather in Oslo and Paris?"


def results_of(response: Response, calls: int) -> list[dict[str, str]]:
    """The results of the calls of a response, whose arguments must be those that the function takes."""
    made = [item for item in response.output if item.type == "function_call"]
    assert len(made) == calls, response.output
    for call in made:
        assert call.name == "get_weather" and list(json.loads(call.arguments)) == ["city"], call
    return [
        {"type": "function_call_output", "call_id": call.call_id, "output": f"{index + 11} degrees"}
        for index, call in enumerate(made)
    ]


def check_answer(response: Response, *results: str) -> None:
    """The model has read the results."""
    assert response.status == "completed", response.status
    assert all(result in response.output_text for result in results), response.output_text


def tools_previous_response(target: Target) -> None:
    """Tools are those of the response before, unless the request has its own."""
    model = target.model("tools:calls=2")
    first = target.openai.responses.create(model=model, input=QUESTION, tools=[WEATHER])
    second = target.openai.responses.create(
        model=model, previous_response_id=first.id, input=results_of(first, 2)
    )
    check_answer(second, "11 degrees", "12 degrees")
    assert second.previous_response_id == first.id


def tools_conversation(target: Target) -> None:
    conversation = target.openai.conversations.create().id
    request = {"model": target.model("tools"), "tools": [WEATHER], "conversation": conversation}
    first = target.openai.responses.create(**request, input=QUESTION)
    assert first.conversation is not None and first.conversation.id == conversation
    second = target.openai.responses.create(**request, input=results_of(first, 1))
    check_answer(second, "11 degrees")
    items = target.openai.conversations.items.list(conversation, order="asc")
    types = [item.type for item in items]
    assert types == ["message", "function_call", "function_call_output", "message"], types


def tools_stateless(target: Target) -> None:
    """All items are sent back, reasoning included, which the provider verifies. Nothing is stored."""
    request = {
        "model": target.model("reasoning:calls=2"),
        "tools": [WEATHER],
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"effort": "medium", "summary": "auto"},
    }
    question = {"role": "user", "content": QUESTION}
    first = target.openai.responses.create(**request, input=[question])
    assert first.output[0].type == "reasoning"
    history = [question, *first.output, *results_of(first, 2)]
    with target.openai.responses.stream(**request, input=history) as accumulated:
        second = accumulated.get_final_response()
    check_answer(second, "11 degrees", "12 degrees")
    try:
        target.openai.responses.retrieve(second.id)
    except NotFoundError:
        return
    raise AssertionError("the response is stored")


def tools_stream(target: Target) -> None:
    """The arguments of calls arrive in pieces, which the SDK joins."""
    joined: dict[str, str] = {}
    with target.openai.responses.stream(
        model=target.model("tools:calls=2"), input=QUESTION, tools=[WEATHER], tool_choice="required"
    ) as accumulated:
        for event in accumulated:
            if event.type == "response.function_call_arguments.delta":
                joined[event.item_id] = joined.get(event.item_id, "") + event.delta
        response = accumulated.get_final_response()
    results_of(response, 2)
    for call in response.output:
        assert call.type == "function_call" and call.id is not None
        assert call.arguments == joined[call.id]


CHECKS = (tools_previous_response, tools_conversation, tools_stateless, tools_stream)
