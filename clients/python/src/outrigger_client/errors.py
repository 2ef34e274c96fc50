"""The errors of Outrigger: one class for each kind of `ErrorKind`, and what turns a failed call into one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import grpc

from outrigger_client.results import Step
from outrigger_client.status_details_pb2 import BadRequest, Status
from outrigger_client.v1.attempt_pb2 import Attempt
from outrigger_client.v1.error_pb2 import ErrorKind, InferenceError
from outrigger_client.v1.generation_pb2 import FailedGeneration, StepResult
from outrigger_client.v1.message_pb2 import Message
from outrigger_client.v1.usage_pb2 import Usage

_STATUS_DETAILS = "grpc-status-details-bin"


class FieldViolation(NamedTuple):
    """A field of the request that is wrong."""

    field: str
    """Path with proto field names, for instance `messages[2].content[0].image.url`."""
    description: str
    """What was found and what was expected."""


class OutriggerError(Exception):
    """Base of all errors that a call raises. `str(error)` is the message."""

    def __init__(
        self,
        failure: InferenceError,
        field_violations: Iterable[FieldViolation] = (),
        generation: FailedGeneration | None = None,
    ) -> None:
        super().__init__(failure.message)
        self.failure = failure
        """The error as it came over the wire."""
        self.field_violations: Sequence[FieldViolation] = tuple(field_violations)
        """Fields of the request that are wrong. Empty if the request is not the reason."""
        self.generation = FailedGeneration() if generation is None else generation
        """What a generation had done before it failed, as the contract has it. Empty for other failures."""
        if failure.HasField("cause"):
            self.__cause__ = error_of(failure.cause)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.failure, self.field_violations, self.generation)

    @property
    def kind(self) -> str:
        """What kind of failure it is: the name of the `ErrorKind` without its prefix, such as `RATE_LIMIT`."""
        number = self.failure.kind
        name = ErrorKind.Name(number) if number in ErrorKind.values() else f"KIND_{number}"
        return name.removeprefix("ERROR_KIND_")

    @property
    def message(self) -> str:
        """Human-readable text. Not stable: do not match on it."""
        return self.failure.message

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed later."""
        return self.failure.retryable

    @property
    def retry_after(self) -> float | None:
        """Seconds to wait before a retry; None where unknown."""
        if not self.failure.HasField("retry_after"):
            return None
        return self.failure.retry_after.ToTimedelta().total_seconds()

    @property
    def output_started(self) -> bool:
        """Whether the model had begun to produce output, which a retry pays for again."""
        return self.failure.output_started

    @property
    def usage(self) -> Usage | None:
        """Tokens that the call used before it failed, in all steps, as far as the provider reported them."""
        return self.failure.usage if self.failure.HasField("usage") else None

    @property
    def steps(self) -> Sequence[Step]:
        """The steps of a generation that were complete before it failed. Empty for other failures."""
        return [Step(step) for step in self.generation.steps]

    @property
    def messages(self) -> Sequence[Message]:
        """What `steps` add to the conversation.

        A generation whose messages end with them continues from there, and repeats none of their tools.
        """
        return [message for step in self.steps for message in step.messages]

    @property
    def attempts(self) -> Sequence[Attempt]:
        """The calls of providers in a generation that failed after a step was complete.

        As many of the latest as the sidecar could send with the failure.
        """
        return self.generation.attempts

    @property
    def provider(self) -> str:
        """Name of the provider that reported the failure. Empty if no provider did."""
        return self.failure.provider_failure.provider

    @property
    def http_status_code(self) -> int | None:
        """HTTP status of the provider's answer; None if there was none."""
        failure = self.failure.provider_failure
        return failure.http_status_code if failure.HasField("http_status_code") else None

    @property
    def error_code(self) -> str:
        """The provider's own code, for instance `insufficient_quota`. Empty if none."""
        return self.failure.provider_failure.error_code

    @property
    def request_id(self) -> str:
        """The provider's request id, for its support team. Empty if it gives none."""
        return self.failure.provider_failure.request_id

    @property
    def raw_json(self) -> str:
        """The provider's response body, if the request asked for it with `include_raw`."""
        return self.failure.provider_failure.raw_json


class ProviderError(OutriggerError):
    """A failure of a provider, or of a request that a provider would reject."""


class AuthenticationError(ProviderError):
    """A key is missing, wrong or expired: the caller's access key, or the key that the sidecar has for a provider."""

    @property
    def is_access_key(self) -> bool:
        """Whether it is the caller's access key. Otherwise `provider` refused the sidecar's key."""
        return not self.failure.HasField("provider_failure")


class AccessDeniedError(ProviderError):
    """The API key is not allowed to do this."""


class NotFoundError(ProviderError):
    """No such model or endpoint."""


class InvalidRequestError(ProviderError):
    """The request is invalid; `field_violations` names its fields where Outrigger found the mistake."""


class RateLimitError(ProviderError):
    """Too many requests."""


class ServerError(ProviderError):
    """The provider failed or is overloaded."""


class ContentFilterError(ProviderError):
    """A safety filter blocked the call."""


class ContextLengthError(ProviderError):
    """The conversation is longer than the model's context window."""


class QuotaExceededError(ProviderError):
    """The account's credit or quota is used up."""


class InvalidToolCallError(ProviderError):
    """A tool call does not match its schema, or is malformed."""


class RequestTimeoutError(OutriggerError, TimeoutError):
    """A time limit or the call's deadline ran out."""


class AbortError(OutriggerError):
    """The call was cancelled."""


class NetworkError(OutriggerError, ConnectionError):
    """The sidecar or the provider could not be reached."""


class StreamError(OutriggerError):
    """A stream ended without its end marker, or violated its protocol."""


class NoObjectGeneratedError(OutriggerError):
    """The answer does not match the schema."""

    @property
    def text(self) -> str:
        """What the model wrote, at most the first 1536 bytes in UTF-8."""
        return self.failure.no_object.text

    @property
    def violations(self) -> Sequence[str]:
        """Why it is not valid JSON, or how it violates the schema. At most 20 entries."""
        return tuple(self.failure.no_object.violations)


class ConfigurationError(OutriggerError):
    """The sidecar is not configured for this call, or does not have this method."""


class UnsupportedToolChoiceError(OutriggerError):
    """The provider or model does not support the requested tool choice."""


class InternalError(OutriggerError):
    """A bug in Outrigger."""


_CLASSES: Mapping[int, type[OutriggerError]] = {
    ErrorKind.ERROR_KIND_PROVIDER: ProviderError,
    ErrorKind.ERROR_KIND_AUTHENTICATION: AuthenticationError,
    ErrorKind.ERROR_KIND_ACCESS_DENIED: AccessDeniedError,
    ErrorKind.ERROR_KIND_NOT_FOUND: NotFoundError,
    ErrorKind.ERROR_KIND_INVALID_REQUEST: InvalidRequestError,
    ErrorKind.ERROR_KIND_RATE_LIMIT: RateLimitError,
    ErrorKind.ERROR_KIND_SERVER: ServerError,
    ErrorKind.ERROR_KIND_CONTENT_FILTER: ContentFilterError,
    ErrorKind.ERROR_KIND_CONTEXT_LENGTH: ContextLengthError,
    ErrorKind.ERROR_KIND_QUOTA_EXCEEDED: QuotaExceededError,
    ErrorKind.ERROR_KIND_REQUEST_TIMEOUT: RequestTimeoutError,
    ErrorKind.ERROR_KIND_ABORT: AbortError,
    ErrorKind.ERROR_KIND_NETWORK: NetworkError,
    ErrorKind.ERROR_KIND_STREAM: StreamError,
    ErrorKind.ERROR_KIND_INVALID_TOOL_CALL: InvalidToolCallError,
    ErrorKind.ERROR_KIND_NO_OBJECT_GENERATED: NoObjectGeneratedError,
    ErrorKind.ERROR_KIND_CONFIGURATION: ConfigurationError,
    ErrorKind.ERROR_KIND_UNSUPPORTED_TOOL_CHOICE: UnsupportedToolChoiceError,
    ErrorKind.ERROR_KIND_INTERNAL: InternalError,
}

# For failures of gRPC itself, which carry no InferenceError: the connection, a deadline, a proxy.
_KINDS: Mapping[grpc.StatusCode, ErrorKind.ValueType] = {
    grpc.StatusCode.CANCELLED: ErrorKind.ERROR_KIND_ABORT,
    grpc.StatusCode.DEADLINE_EXCEEDED: ErrorKind.ERROR_KIND_REQUEST_TIMEOUT,
    grpc.StatusCode.UNAVAILABLE: ErrorKind.ERROR_KIND_NETWORK,
    grpc.StatusCode.UNIMPLEMENTED: ErrorKind.ERROR_KIND_CONFIGURATION,
    grpc.StatusCode.FAILED_PRECONDITION: ErrorKind.ERROR_KIND_CONFIGURATION,
    grpc.StatusCode.UNAUTHENTICATED: ErrorKind.ERROR_KIND_AUTHENTICATION,
    grpc.StatusCode.PERMISSION_DENIED: ErrorKind.ERROR_KIND_ACCESS_DENIED,
    grpc.StatusCode.NOT_FOUND: ErrorKind.ERROR_KIND_NOT_FOUND,
    grpc.StatusCode.INVALID_ARGUMENT: ErrorKind.ERROR_KIND_INVALID_REQUEST,
    # Without an InferenceError this is a message over the channel's limit.
    grpc.StatusCode.RESOURCE_EXHAUSTED: ErrorKind.ERROR_KIND_INVALID_REQUEST,
    grpc.StatusCode.INTERNAL: ErrorKind.ERROR_KIND_INTERNAL,
}

# How the asynchronous gRPC tells a message that could not be sent because the connection was lost meanwhile.
_LOST_WHILE_SENDING = (grpc.StatusCode.INTERNAL, "Internal error from Core")

_RETRYABLE = frozenset(
    {
        ErrorKind.ERROR_KIND_REQUEST_TIMEOUT,
        ErrorKind.ERROR_KIND_NETWORK,
        ErrorKind.ERROR_KIND_STREAM,
        ErrorKind.ERROR_KIND_PROVIDER,
    }
)


def error_of(
    failure: InferenceError,
    field_violations: Iterable[FieldViolation] = (),
    generation: FailedGeneration | None = None,
) -> OutriggerError:
    """The error of a kind. An unknown kind below 200 becomes a ProviderError, others an OutriggerError."""
    base = ProviderError if 100 <= failure.kind < 200 else OutriggerError
    return _CLASSES.get(failure.kind, base)(failure, field_violations, generation)


def keep_steps(error: OutriggerError, steps: Sequence[StepResult]) -> None:
    """Gives an error all steps that arrived: the status has room for some of them only."""
    if len(steps) > len(error.generation.steps):
        attempts = error.generation.attempts
        error.generation = FailedGeneration(steps=steps, step_count=len(steps), attempts=attempts)


def local_error(kind: ErrorKind.ValueType, message: str, *, output_started: bool = False) -> OutriggerError:
    """An error that this package found itself."""
    return error_of(
        InferenceError(
            kind=kind, message=message, retryable=kind in _RETRYABLE, output_started=output_started
        )
    )


def error_of_call(
    error: grpc.RpcError, *, output_started: bool = False, unreached: str | None = None
) -> OutriggerError:
    """The error of a call that gRPC reports as failed.

    Args:
        error: What gRPC raised.
        output_started: Whether a part of the answer had arrived.
        unreached: The address of the sidecar, if there was no connection to it.
    """
    if not isinstance(error, (grpc.Call, grpc.aio.AioRpcError)):
        return local_error(ErrorKind.ERROR_KIND_INTERNAL, f"the call failed: {error}")
    decoded = _from_details(_details_of(error))
    details = error.details() or ""
    if unreached is not None:
        details += f"; is the sidecar running at {unreached}?"
    return decoded or _from_code(error.code(), details, output_started)


def _details_of(error: Any) -> Status:
    status = Status()
    # None if the channel itself failed, for instance because no sidecar is running.
    for key, value in error.trailing_metadata() or ():
        if key == _STATUS_DETAILS:
            status.ParseFromString(value)
    return status


def _from_details(status: Status) -> OutriggerError | None:
    failure: InferenceError | None = None
    violations: list[FieldViolation] = []
    generation: FailedGeneration | None = None
    for detail in status.details:
        if detail.Is(InferenceError.DESCRIPTOR):
            failure = InferenceError.FromString(detail.value)
        elif detail.Is(FailedGeneration.DESCRIPTOR):
            generation = FailedGeneration.FromString(detail.value)
        elif detail.TypeName() == "google.rpc.BadRequest":
            found = BadRequest.FromString(detail.value).field_violations
            violations.extend(FieldViolation(entry.field, entry.description) for entry in found)
    return None if failure is None else error_of(failure, violations, generation)


def _from_code(code: grpc.StatusCode, details: str, output_started: bool) -> OutriggerError:
    kind = _KINDS.get(code, ErrorKind.ERROR_KIND_PROVIDER)
    if (code, details) == _LOST_WHILE_SENDING:
        kind = ErrorKind.ERROR_KIND_NETWORK
    if output_started and kind == ErrorKind.ERROR_KIND_NETWORK:
        kind = ErrorKind.ERROR_KIND_STREAM
    return local_error(kind, f"{code.name}: {details}", output_started=output_started)
