"""The WebSocket mode, through the SDK's own session class: it refuses events of lanes that it does not know, or that
do not belong to a response.
"""

from openai.lib.responses_websocket import (
    ResponsesWebSocketError,
    ResponsesWebSocketLane,
    ResponsesWebSocketLimits,
    ResponsesWebSocketSession,
)
from openai.types.responses import Response

from target import Target

LIMITS = ResponsesWebSocketLimits(
    max_lanes=8, max_events_per_lane=10_000, max_events=50_000, max_bytes_per_lane=10**7, max_bytes=10**8
)


def ask(lane: ResponsesWebSocketLane, **fields: object) -> Response:
    lane.send({"type": "response.create", "store": False, **fields})  # pyright: ignore
    return lane.get_final_response(timeout=30)


def socket_lanes(target: Target) -> None:
    """Lanes continue their own responses and those of each other."""
    model = target.model("echo")
    with target.openai.responses.connect() as connection:
        with ResponsesWebSocketSession(connection, limits=LIMITS) as session:
            left, right = session.lane("left"), session.lane("right.1")
            first = ask(left, model=model, input="one")
            assert first.output_text == "one", first
            for lane in (right, left):
                next_one = ask(lane, model=model, input="two", previous_response_id=first.id)
                assert next_one.previous_response_id == first.id, next_one
                assert next_one.output_text == "two", next_one
                if lane is right:
                    forked = next_one
            assert ask(right, model=model, input="three", previous_response_id=forked.id).output_text == "three"


def socket_prepares(target: Target) -> None:
    """A request can be prepared without a call of the model, and is continued then."""
    model = target.model("echo")
    with target.openai.responses.connect() as connection:
        with ResponsesWebSocketSession(connection, limits=LIMITS) as session:
            lane = session.lane("a")
            prepared = ask(lane, model=model, input="one", generate=False)
            assert prepared.status == "completed" and prepared.output == [], prepared
            # Where messages of one role are merged, the model repeats both.
            assert "two" in ask(lane, model=model, input="two", previous_response_id=prepared.id).output_text


def socket_forgets(target: Target) -> None:
    """A response that a request failed to continue is gone, and the connection stays open."""
    model = target.model("echo")
    with target.openai.responses.connect() as connection:
        with ResponsesWebSocketSession(connection, limits=LIMITS) as session:
            lane = session.lane("a")
            first = ask(lane, model=model, input="one")
            for wrong in ({"temperature": 9}, {}):
                try:
                    ask(lane, model=model, input="two", previous_response_id=first.id, **wrong)
                    raise AssertionError("the request was accepted")
                except ResponsesWebSocketError as error:
                    event = error.event
            assert event.error.code == "previous_response_not_found", event  # pyright: ignore
            assert ask(lane, model=model, input="one again").output_text == "one again"


CHECKS = (socket_lanes, socket_prepares, socket_forgets)
