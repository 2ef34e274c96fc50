"""Calls that succeed: a whole answer, a streamed one, and a tool's round trip."""

import json

from grpc_health.v1 import health_pb2
from grpc_health.v1.health_pb2_grpc import HealthStub
from outrigger.v1.inference_service_pb2_grpc import InferenceServiceStub
from outrigger.v1.message_pb2 import ROLE_TOOL, ROLE_USER, ContentPart, Message, ToolResult
from outrigger.v1.request_pb2 import Request
from outrigger.v1.response_pb2 import FinishReason
from outrigger.v1.stream_event_pb2 import StreamEvent
from outrigger.v1.tool_pb2 import FunctionTool, Tool

# Every call gets a deadline, in seconds. The sidecar applies it to the provider call.
TIMEOUT = 20


def check_health(health: HealthStub) -> None:
    for service in ("", "outrigger.v1.InferenceService"):
        answer = health.Check(health_pb2.HealthCheckRequest(service=service), timeout=TIMEOUT)
        expect(
            answer.status == health_pb2.HealthCheckResponse.SERVING,
            f"service {service!r} has status {answer.status}",
        )


def check_complete(inference: InferenceServiceStub) -> None:
    response = inference.Complete(
        Request(model="sim-text", messages=[user_message("Say hello.")]), timeout=TIMEOUT
    )
    reason, usage = response.finish_reason.reason, response.usage
    expect(text_of(response.message), "the answer has no text")
    expect(reason == FinishReason.REASON_STOP, f"finish reason {reason}, want STOP")
    expect(
        0 < usage.total_tokens == usage.input_tokens + usage.output_tokens,
        f"usage does not add up: {usage}",
    )


def check_stream(inference: InferenceServiceStub) -> None:
    # A call that streams is an iterator; a service would forward each delta as it arrives.
    events = list(
        inference.Stream(
            Request(model="sim-text", messages=[user_message("Say hello.")]), timeout=TIMEOUT
        )
    )
    check_order(events)
    check_text(events)


def check_order(events: list[StreamEvent]) -> None:
    """Checks laws 1 and 2 of a stream; the laws are listed at StreamEvent in the contract."""
    kinds = [event.WhichOneof("event") for event in events]
    sequence = [event.sequence for event in events]
    expect(kinds[:1] == ["stream_start"], f"stream_start is not first: {kinds}")
    expect(kinds[-1:] == ["finish"], f"finish is not last: {kinds}")
    expect(kinds.count("stream_start") == kinds.count("finish") == 1, f"one of each: {kinds}")
    expect(sequence == list(range(len(events))), f"sequence has gaps: {sequence}")


def check_text(events: list[StreamEvent]) -> None:
    """Checks law 4 of a stream: the deltas of a block concatenate to the text in its end and in the
    final response."""
    content = events[-1].finish.response.message.content
    streamed = {}
    ends = []
    for event in events:
        # Callers must skip unknown events, since kinds may be added.
        match event.WhichOneof("event"):
            case "text_delta":
                delta = event.text_delta
                streamed[delta.part_index] = streamed.get(delta.part_index, "") + delta.delta
            case "text_end":
                ends.append(event.text_end)
    expect(
        0 < len(ends) == len(streamed),
        f"{len(streamed)} parts of text were streamed, {len(ends)} ended",
    )
    for end in ends:
        deltas, final = streamed.get(end.part_index), content[end.part_index].text
        expect(
            end.text and deltas == end.text == final,
            f"deltas {deltas!r}, text_end {end.text!r}, final response {final!r}",
        )


def check_tool_round_trip(inference: InferenceServiceStub) -> None:
    result = "18 degrees and drizzle"
    request = Request(
        model="sim-tools",
        messages=[user_message("How is the weather in Oslo?")],
        tools=[
            Tool(
                function=FunctionTool(
                    name="get_weather",
                    description="Current weather of a city.",
                    # JSON is sent as text: a Struct would lose the order of its keys.
                    parameters_json=json.dumps(
                        {
                            "type": "object",
                            "properties": {"city": {"type": "string"}},
                            "required": ["city"],
                        }
                    ),
                )
            )
        ],
    )
    first = inference.Complete(request, timeout=TIMEOUT)
    reason = first.finish_reason.reason
    expect(reason == FinishReason.REASON_TOOL_CALLS, f"finish reason {reason}, want TOOL_CALLS")

    # The assistant's message is sent back unchanged. Its parts may carry provider_state
    # (signatures, encrypted reasoning) that the provider requires.
    request.messages.extend([first.message, run_tools(first.message, result)])
    second = inference.Complete(request, timeout=TIMEOUT)
    text = text_of(second.message)
    expect(result in text, f"the answer {text!r} does not quote the tool's result")


def run_tools(message: Message, result: str) -> Message:
    """Executes every tool call of a message; a model may make several at once."""
    tool_calls = [part.tool_call for part in message.content if part.HasField("tool_call")]
    expect(tool_calls, "the model called no tool")
    for call in tool_calls:
        # The model generates the arguments, which may not be valid JSON; then this raises.
        arguments = json.loads(call.arguments_json)
        expect(
            call.name == "get_weather" and arguments.get("city"),
            f"unexpected call {call.name}({call.arguments_json})",
        )
    return Message(
        role=ROLE_TOOL,
        content=[
            ContentPart(
                tool_result=ToolResult(tool_call_id=call.id, content=[ContentPart(text=result)])
            )
            for call in tool_calls
        ],
    )


def user_message(text: str) -> Message:
    return Message(role=ROLE_USER, content=[ContentPart(text=text)])


def text_of(message: Message) -> str:
    """Joins the text parts of a message. A message may have other parts between them."""
    return "".join(part.text for part in message.content)


def expect(condition, why: str) -> None:
    """Fails the running check. `assert` would not do: `python -O` leaves it out."""
    if not condition:
        raise RuntimeError(why)
