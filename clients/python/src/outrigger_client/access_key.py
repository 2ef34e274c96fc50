"""The access key, which every call carries if the sidecar asks its callers for one."""

from __future__ import annotations

import os
from typing import Any

import grpc

_HEADER = "authorization"


def access_key_of(access_key: str | None) -> str | None:
    """The key to send: the argument, else OUTRIGGER_ACCESS_KEY, else none."""
    return access_key or os.environ.get("OUTRIGGER_ACCESS_KEY") or None


class AccessKeyInterceptor(
    grpc.UnaryUnaryClientInterceptor,
    grpc.UnaryStreamClientInterceptor,
    grpc.StreamUnaryClientInterceptor,
    grpc.StreamStreamClientInterceptor,
):
    """Adds the key to the calls of a channel."""

    def __init__(self, access_key: str) -> None:
        self._header = (_HEADER, f"Bearer {access_key}")

    def _with_key(self, details: Any) -> Any:
        return details._replace(metadata=[*(details.metadata or ()), self._header])

    def intercept_unary_unary(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        return continuation(self._with_key(client_call_details), request)

    def intercept_unary_stream(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        return continuation(self._with_key(client_call_details), request)

    def intercept_stream_unary(
        self, continuation: Any, client_call_details: Any, request_iterator: Any
    ) -> Any:
        return continuation(self._with_key(client_call_details), request_iterator)

    def intercept_stream_stream(
        self, continuation: Any, client_call_details: Any, request_iterator: Any
    ) -> Any:
        return continuation(self._with_key(client_call_details), request_iterator)


class _AsyncInterceptor:
    """Adds the key to the calls of one kind."""

    def __init__(self, access_key: str) -> None:
        self._value = f"Bearer {access_key}"

    def _with_key(self, details: Any) -> Any:
        metadata = grpc.aio.Metadata(*(details.metadata or ()))
        metadata.add(_HEADER, self._value)
        return details._replace(metadata=metadata)


class _AsyncUnaryUnary(_AsyncInterceptor, grpc.aio.UnaryUnaryClientInterceptor):
    async def intercept_unary_unary(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        return await continuation(self._with_key(client_call_details), request)


class _AsyncUnaryStream(_AsyncInterceptor, grpc.aio.UnaryStreamClientInterceptor):
    async def intercept_unary_stream(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        return await continuation(self._with_key(client_call_details), request)


class _AsyncStreamUnary(_AsyncInterceptor, grpc.aio.StreamUnaryClientInterceptor):
    async def intercept_stream_unary(
        self, continuation: Any, client_call_details: Any, request_iterator: Any
    ) -> Any:
        return await continuation(self._with_key(client_call_details), request_iterator)


class _AsyncStreamStream(_AsyncInterceptor, grpc.aio.StreamStreamClientInterceptor):
    async def intercept_stream_stream(
        self, continuation: Any, client_call_details: Any, request_iterator: Any
    ) -> Any:
        return await continuation(self._with_key(client_call_details), request_iterator)


def async_interceptors(access_key: str) -> list[Any]:
    """Interceptors for an asyncio channel, which takes each of them for one kind of call alone."""
    kinds = (_AsyncUnaryUnary, _AsyncUnaryStream, _AsyncStreamUnary, _AsyncStreamStream)
    return [kind(access_key) for kind in kinds]
