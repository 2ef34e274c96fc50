"""Failures: each is the SDK's exception for its kind."""

from collections.abc import Callable
from typing import TypeVar

from openai import (
    APIError,
    BadRequestError,
    InternalServerError,
    NotFoundError,
    RateLimitError,
)

from target import Target

Failure = TypeVar("Failure", bound=Exception)


def failure_of(kind: type[Failure], call: Callable[[], object]) -> Failure:
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"the call succeeded, want {kind.__name__}")


def bad_request(target: Target) -> None:
    """What contradicts itself is refused, and the answer says which parameter it is."""
    request = {"model": target.model("text"), "input": "Hello", "store": False}
    for wrong in (
        {"background": True},
        {"previous_response_id": f"resp_{'0' * 32}"},
        {"max_output_tokens": "many"},
    ):
        error = failure_of(
            BadRequestError, lambda: target.openai.responses.create(**request, **wrong)
        )
        assert error.status_code == 400 and error.type == "invalid_request_error", error
        assert error.param in wrong, error.param


def not_found(target: Target) -> None:
    missing = f"resp_{'0' * 32}"
    responses = target.openai.responses
    error = failure_of(NotFoundError, lambda: responses.retrieve(missing))
    assert missing in error.message, error.message
    failure_of(NotFoundError, lambda: responses.input_items.list(missing))
    failure_of(NotFoundError, lambda: target.openai.models.retrieve("no-such-model"))
    failure_of(
        NotFoundError, lambda: responses.create(model=target.model("nothing"), input="Hello")
    )


def rate_limit(target: Target) -> None:
    responses = target.openai.with_options(max_retries=0).responses
    request = {"model": target.model("text:status=429,retry_after=2"), "input": "Hello"}
    error = failure_of(RateLimitError, lambda: responses.create(**request))
    assert error.status_code == 429 and error.response.headers["retry-after"] == "2"
    failure_of(RateLimitError, lambda: responses.create(**request, stream=True))


def retry(target: Target) -> None:
    """The SDK repeats what may succeed, after as long as it was told. The delays are of this client alone, see `times`."""
    delay = 11 + ["openai", "anthropic", "gemini", "compatible"].index(target.provider)
    model = target.model(f"text:status=429,retry_after_ms={delay},times=2")
    assert target.openai.responses.create(model=model, input="Hello").status == "completed"


def server_error(target: Target) -> None:
    responses = target.openai.with_options(max_retries=0).responses
    model = target.model("text:status=500")
    error = failure_of(InternalServerError, lambda: responses.create(model=model, input="Hello"))
    assert error.status_code >= 500


def cut_stream(target: Target) -> None:
    """A stream that broke is an exception, and never looks finished."""
    events = []
    failed = False
    stream = target.openai.responses.create(
        model=target.model("text:cut_events=6"), input="Hello", stream=True
    )
    try:
        for event in stream:
            events.append(event)
    except APIError:
        failed = True
    types = [event.type for event in events]
    assert "response.completed" not in types, types
    assert failed, types
    kept = target.openai.responses.retrieve(events[0].response.id)
    assert kept.status == "failed" and kept.error is not None and kept.error.message


CHECKS = (bad_request, not_found, rate_limit, retry, server_error, cut_stream)
