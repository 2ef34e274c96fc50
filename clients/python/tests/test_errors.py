"""Failed calls as errors: from status details, from gRPC itself, and the tree of classes."""

from __future__ import annotations

import pickle
import unittest
from typing import Any

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message as AnyProto

import outrigger_client
from outrigger_client import errors
from outrigger_client.errors import FieldViolation, OutriggerError, ProviderError, error_of, error_of_call
from outrigger_client.status_details_pb2 import BadRequest, Status
from outrigger_client.v1 import error_pb2
from outrigger_client.v1.attempt_pb2 import Attempt
from outrigger_client.v1.error_pb2 import ErrorKind, InferenceError, NoObject, ProviderFailure
from outrigger_client.v1.generation_pb2 import FailedGeneration, StepResult
from outrigger_client.v1.message_pb2 import ContentPart, Message
from outrigger_client.v1.response_pb2 import Response
from outrigger_client.v1.usage_pb2 import Usage


def failed_call(code: grpc.StatusCode, *details: AnyProto, text: str = "") -> grpc.aio.AioRpcError:
    packed = []
    for detail in details:
        entry = AnyMessage()
        entry.Pack(detail)
        packed.append(entry)
    trailer = ("grpc-status-details-bin", Status(details=packed).SerializeToString())
    metadata = grpc.aio.Metadata(trailer) if details else grpc.aio.Metadata()
    return grpc.aio.AioRpcError(code, grpc.aio.Metadata(), metadata, details=text)


class ErrorTest(unittest.TestCase):
    """Every failed call becomes an error of its kind, with all that was said about it."""

    def test_an_access_key_is_told_from_the_key_of_a_provider(self) -> None:
        kind = ErrorKind.ERROR_KIND_AUTHENTICATION
        refused = [
            error_of(InferenceError(kind=kind)),
            error_of(InferenceError(kind=kind, provider_failure=ProviderFailure(provider="openai"))),
        ]
        found = [isinstance(error, errors.AuthenticationError) and error.is_access_key for error in refused]
        self.assertEqual(found, [True, False])

    def test_each_kind_of_the_contract_has_a_class_of_its_own(self) -> None:
        kinds = [kind for kind in ErrorKind.values() if kind != error_pb2.ERROR_KIND_UNSPECIFIED]
        classes = {type(error_of(InferenceError(kind=kind))) for kind in kinds}
        self.assertEqual(len(classes), len(kinds))
        for found in classes:
            self.assertTrue(issubclass(found, OutriggerError))
            self.assertIs(getattr(outrigger_client, found.__name__), found)

    def test_an_unknown_kind_is_treated_by_its_range(self) -> None:
        unknown: Any = 150
        self.assertIs(type(error_of(InferenceError(kind=unknown))), ProviderError)
        unknown = 299
        error = error_of(InferenceError(kind=unknown))
        self.assertIs(type(error), OutriggerError)
        self.assertEqual(error.kind, "KIND_299")

    def test_a_message_that_could_not_be_sent_is_a_failure_of_the_network(self) -> None:
        lost = failed_call(grpc.StatusCode.INTERNAL, text="Internal error from Core")
        error = error_of_call(lost)
        self.assertIs(type(error), errors.NetworkError)
        self.assertTrue(error.retryable)
        self.assertIs(type(error_of_call(lost, output_started=True)), errors.StreamError)

    def test_the_details_of_a_status_are_decoded(self) -> None:
        failure = InferenceError(
            kind=error_pb2.ERROR_KIND_RATE_LIMIT,
            message="slow down",
            retryable=True,
            retry_after=Duration(seconds=2, nanos=500_000_000),
            output_started=True,
            usage=Usage(total_tokens=7),
            provider_failure=ProviderFailure(
                provider="openai", http_status_code=429, error_code="rate", request_id="r1", raw_json="{}"
            ),
        )
        error = error_of_call(failed_call(grpc.StatusCode.RESOURCE_EXHAUSTED, failure))
        assert error.usage is not None
        self.assertIs(type(error), errors.RateLimitError)
        self.assertEqual((error.kind, error.message, str(error)), ("RATE_LIMIT", "slow down", "slow down"))
        self.assertEqual((error.retryable, error.retry_after, error.output_started), (True, 2.5, True))
        self.assertEqual((error.provider, error.http_status_code, error.error_code), ("openai", 429, "rate"))
        self.assertEqual((error.request_id, error.raw_json, error.usage.total_tokens), ("r1", "{}", 7))

    def test_what_was_not_said_is_none_or_empty(self) -> None:
        error = error_of(InferenceError(kind=error_pb2.ERROR_KIND_SERVER))
        self.assertEqual((error.retry_after, error.usage, error.http_status_code), (None, None, None))
        self.assertEqual((error.provider, error.field_violations), ("", ()))

    def test_fields_that_are_wrong_are_named(self) -> None:
        failure = InferenceError(kind=error_pb2.ERROR_KIND_INVALID_REQUEST, message="bad")
        entry = BadRequest.FieldViolation(field="messages", description="is empty")
        # On the wire it is google.rpc's message, which this package does not have.
        detail = AnyMessage(
            type_url="type.googleapis.com/google.rpc.BadRequest",
            value=BadRequest(field_violations=[entry]).SerializeToString(),
        )
        packed = AnyMessage()
        packed.Pack(failure)
        trailer = Status(details=[packed, detail]).SerializeToString()
        call = grpc.aio.AioRpcError(
            grpc.StatusCode.INVALID_ARGUMENT,
            grpc.aio.Metadata(),
            grpc.aio.Metadata(("grpc-status-details-bin", trailer)),
        )
        self.assertEqual(error_of_call(call).field_violations, (FieldViolation("messages", "is empty"),))

    def test_a_cause_is_chained_as_in_python(self) -> None:
        cause = InferenceError(kind=error_pb2.ERROR_KIND_NETWORK, message="refused")
        error = error_of(InferenceError(kind=error_pb2.ERROR_KIND_SERVER, cause=cause))
        self.assertIsInstance(error.__cause__, errors.NetworkError)

    def test_an_answer_that_is_no_object_is_kept(self) -> None:
        error = error_of(
            InferenceError(
                kind=error_pb2.ERROR_KIND_NO_OBJECT_GENERATED,
                no_object=NoObject(text="hm", violations=["/: no JSON"]),
            )
        )
        assert isinstance(error, errors.NoObjectGeneratedError)
        self.assertEqual((error.text, error.violations), ("hm", ("/: no JSON",)))

    def test_failures_of_grpc_itself_are_errors_of_the_same_tree(self) -> None:
        for code, expected, retryable in (
            (grpc.StatusCode.UNAVAILABLE, errors.NetworkError, True),
            (grpc.StatusCode.DEADLINE_EXCEEDED, errors.RequestTimeoutError, True),
            (grpc.StatusCode.CANCELLED, errors.AbortError, False),
            (grpc.StatusCode.UNIMPLEMENTED, errors.ConfigurationError, False),
            (grpc.StatusCode.RESOURCE_EXHAUSTED, errors.InvalidRequestError, False),
            (grpc.StatusCode.UNKNOWN, errors.ProviderError, True),
        ):
            with self.subTest(code=code):
                error = error_of_call(failed_call(code, text="why"))
                self.assertIs(type(error), expected)
                self.assertEqual((error.message, error.retryable), (f"{code.name}: why", retryable))

    def test_python_s_own_classes_catch_time_outs_and_broken_connections(self) -> None:
        with self.assertRaises(TimeoutError):
            raise error_of(InferenceError(kind=error_pb2.ERROR_KIND_REQUEST_TIMEOUT))
        with self.assertRaises(ConnectionError):
            raise error_of(InferenceError(kind=error_pb2.ERROR_KIND_NETWORK))

    def test_what_a_generation_had_done_is_decoded(self) -> None:
        failure = InferenceError(kind=error_pb2.ERROR_KIND_SERVER)
        answer = Message(content=[ContentPart(text="looking")])
        progress = FailedGeneration(
            steps=[StepResult(response=Response(message=answer))],
            step_count=2,
            attempts=[Attempt(step=1), Attempt(step=3)],
        )
        error = error_of_call(failed_call(grpc.StatusCode.UNAVAILABLE, failure, progress))
        self.assertEqual([step.text for step in error.steps], ["looking"])
        self.assertEqual((error.messages, error.generation.step_count), ([answer], 2))
        self.assertEqual([attempt.step for attempt in error.attempts], [1, 3])
        self.assertEqual(pickle.loads(pickle.dumps(error)).generation, progress)

    def test_an_error_can_be_sent_to_another_process(self) -> None:
        for kind in (error_pb2.ERROR_KIND_RATE_LIMIT, error_pb2.ERROR_KIND_REQUEST_TIMEOUT):
            error = error_of(InferenceError(kind=kind, message="m"), [FieldViolation("a", "b")])
            copy = pickle.loads(pickle.dumps(error))
            self.assertIs(type(copy), type(error))
            self.assertEqual((copy.failure, copy.field_violations), (error.failure, error.field_violations))
