"""The asynchronous client."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, overload

import grpc

from outrigger_client.access_key import access_key_of, async_interceptors
from outrigger_client.async_calls import AsyncCalls
from outrigger_client.async_runs import AsyncRuns
from outrigger_client.async_streams import AsyncCompletionStream, AsyncGenerationStream, AsyncObjectStream
from outrigger_client.async_threads import AsyncThreads
from outrigger_client.call_info import CallSettings, OnCall
from outrigger_client.channel import channel_options, target_of
from outrigger_client.decoders import CompletionDecoder, GenerationDecoder, ObjectDecoder, object_result
from outrigger_client.errors import NotFoundError, local_error
from outrigger_client.options import (
    GenerationArguments,
    ObjectArguments,
    generation_options,
    object_spec,
    run_tools_start,
)
from outrigger_client.results import GenerateResult, ObjectResult
from outrigger_client.tasks import ToolTasks
from outrigger_client.tool_loop import MAX_CONCURRENT_TOOLS, RepairFunction, ToolLoop
from outrigger_client.tools import AnyTool, ToolSet, tool_set
from outrigger_client.v1.catalog_service_pb2 import (
    Capability,
    GetLatestModelRequest,
    GetModelRequest,
    ListModelsRequest,
    ModelInfo,
)
from outrigger_client.v1.catalog_service_pb2_grpc import CatalogServiceStub
from outrigger_client.v1.embedding_service_pb2 import EmbedRequest, EmbedResponse
from outrigger_client.v1.embedding_service_pb2_grpc import EmbeddingServiceStub
from outrigger_client.v1.error_pb2 import ErrorKind
from outrigger_client.v1.generation_pb2 import GenerationOptions
from outrigger_client.v1.generation_service_pb2 import (
    GenerateObjectRequest,
    GenerateRequest,
    StreamGenerateRequest,
    StreamObjectRequest,
)
from outrigger_client.v1.generation_service_pb2_grpc import GenerationServiceStub
from outrigger_client.v1.inference_service_pb2 import CountTokensResponse
from outrigger_client.v1.inference_service_pb2_grpc import InferenceServiceStub
from outrigger_client.v1.request_pb2 import Request
from outrigger_client.v1.response_pb2 import Response
from outrigger_client.v1.run_service_pb2_grpc import RunServiceStub
from outrigger_client.v1.thread_service_pb2_grpc import ThreadServiceStub

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    # Only type checkers know these: the stubs are the same for both kinds of channels.
    from outrigger_client.v1.catalog_service_pb2_grpc import CatalogServiceAsyncStub
    from outrigger_client.v1.embedding_service_pb2_grpc import EmbeddingServiceAsyncStub
    from outrigger_client.v1.generation_service_pb2_grpc import GenerationServiceAsyncStub
    from outrigger_client.v1.inference_service_pb2_grpc import InferenceServiceAsyncStub

T = TypeVar("T")


class AsyncClient:
    """A connection to the sidecar, for asyncio. Safe for concurrent use; a program keeps one for its lifetime.

    Cancelling a task cancels its call.

    Every method takes `timeout`: seconds for the whole call, which also bound what the sidecar does.
    All methods raise OutriggerError if a call fails.

    Args:
        address: `host:port` or `unix:///path`. By default OUTRIGGER_ADDRESS, else `localhost:6190`.
        access_key: The key for a sidecar that asks its callers for one. By default OUTRIGGER_ACCESS_KEY, else
            none. Without TLS it travels in the clear.
        tls: True for TLS with the machine's certificates, or credentials. Default: no TLS.
        interceptors: Interceptors of gRPC, for instance those of OpenTelemetry.
        max_concurrent_tools: How many tools of one loop run at once, at most.
        hide_tool_errors: Whether models get "the tool failed" instead of the text of a tool's exception,
            which may hold addresses, paths or data of others. A ToolError is always told.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        access_key: str | None = None,
        tls: bool | grpc.ChannelCredentials = False,
        interceptors: Sequence[Any] = (),
        max_concurrent_tools: int = MAX_CONCURRENT_TOOLS,
        hide_tool_errors: bool = False,
    ) -> None:
        self._hide_tool_errors = hide_tool_errors
        self._target = target_of(address)
        self._tls = tls
        key = access_key_of(access_key)
        self._interceptors = [*([] if key is None else async_interceptors(key)), *interceptors]
        self._max_concurrent_tools = max_concurrent_tools

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connection, and cancels the calls that run."""
        self._calls.close()
        await self.channel.close()

    @cached_property
    def channel(self) -> grpc.aio.Channel:
        """The channel, for the stubs in `outrigger_client.v1`. It belongs to the event loop of its first use."""
        options = channel_options()
        if self._tls is False:
            return grpc.aio.insecure_channel(self._target, options, interceptors=self._interceptors)
        credentials = grpc.ssl_channel_credentials() if self._tls is True else self._tls
        return grpc.aio.secure_channel(self._target, credentials, options, interceptors=self._interceptors)

    @cached_property
    def _calls(self) -> AsyncCalls:
        return AsyncCalls(self.channel, self._target, CallSettings())

    @cached_property
    def _inference(self) -> InferenceServiceAsyncStub:
        return InferenceServiceStub(self.channel)

    @cached_property
    def _generation(self) -> GenerationServiceAsyncStub:
        return GenerationServiceStub(self.channel)

    def with_options(
        self, *, headers: Mapping[str, str] | None = None, on_call: OnCall | None = None
    ) -> Self:
        """The same client, over the same connection, with other settings for its calls.

        Args:
            headers: Sent with each call in addition to those set before, for instance `{"x-request-id": "..."}`.
            on_call: Is told of each call that ended: its code, headers and request id.
        """
        # Both share the channel, which is made with the first call otherwise.
        calls = self._calls
        derived = copy.copy(self)
        derived._calls = calls.derived(calls.settings.derived(headers, on_call))
        return derived

    @property
    def runs(self) -> AsyncRuns:
        """The run engine: generations that are stored, and that can continue in the background."""
        return AsyncRuns(self._calls, RunServiceStub(self.channel))

    @property
    def threads(self) -> AsyncThreads:
        """The stored conversations, which runs read and append to."""
        return AsyncThreads(self._calls, ThreadServiceStub(self.channel))

    @cached_property
    def _catalog(self) -> CatalogServiceAsyncStub:
        return CatalogServiceStub(self.channel)

    @cached_property
    def _embeddings(self) -> EmbeddingServiceAsyncStub:
        return EmbeddingServiceStub(self.channel)

    async def wait_until_ready(self, timeout: float) -> None:
        """Waits until the sidecar accepts connections. Raises NetworkError if it does not in time."""
        self._calls.check_open()
        try:
            await asyncio.wait_for(self.channel.channel_ready(), timeout)
        except asyncio.TimeoutError:
            message = f"the sidecar accepted no connection within {timeout} s"
            raise local_error(ErrorKind.ERROR_KIND_NETWORK, message) from None

    async def complete(self, request: Request, *, timeout: float | None = None) -> Response:
        """Calls a model once and returns its whole answer."""
        return await self._calls.unary("Complete", self._inference.Complete, request, timeout)

    async def count_tokens(self, request: Request, *, timeout: float | None = None) -> CountTokensResponse:
        """Counts the tokens of a request's input, as its provider does; an estimate if that counts none."""
        return await self._calls.unary("CountTokens", self._inference.CountTokens, request, timeout)

    async def embed(
        self,
        texts: Sequence[str],
        *,
        model: str,
        provider: str = "",
        dimensions: int | None = None,
        task_type: str = "",
        timeout: float | None = None,
    ) -> EmbedResponse:
        """Embeds texts. Raises InvalidRequestError if the provider has no embeddings.

        Args:
            texts: The texts, none of them empty.
            model: The provider's own id of the model.
            provider: Name of its provider. By default as for other calls.
            dimensions: Number of dimensions of each vector. By default that of the model.
            task_type: Use of the vectors, such as `retrieval_query`.
            timeout: Seconds for the call.
        """
        request = EmbedRequest(
            model=model, provider=provider, texts=texts, dimensions=dimensions, task_type=task_type
        )
        return await self._calls.unary("Embed", self._embeddings.Embed, request, timeout)

    def stream(self, request: Request, *, timeout: float | None = None) -> AsyncCompletionStream:
        """Calls a model once and returns its answer as a stream."""
        call = self._calls.stream("Stream", self._inference.Stream, lambda: request, timeout)
        return AsyncCompletionStream(call, CompletionDecoder())

    async def generate(
        self,
        *,
        model: str,
        tools: Sequence[AnyTool] = (),
        repair: RepairFunction | None = None,
        timeout: float | None = None,
        **arguments: Unpack[GenerationArguments],
    ) -> GenerateResult:
        """Generates, with retries and the tool loop.

        Args:
            model: The provider's own id of the model.
            tools: Functions that the model may call, and definitions of tools whose calls come back.
            repair: Repairs a call whose arguments do not match the tool's schema.
            timeout: Seconds for all of it.
            arguments: See GenerationArguments.
        """
        chosen = tool_set(tools)
        options = generation_options(model, chosen, **arguments)
        if chosen.executable:
            return await self._run_tools(options, chosen, repair, timeout, omit_events=True).result()
        request = GenerateRequest(options=options)
        answer = await self._calls.unary("Generate", self._generation.Generate, request, timeout)
        return GenerateResult(answer.result)

    def stream_generate(
        self,
        *,
        model: str,
        tools: Sequence[AnyTool] = (),
        repair: RepairFunction | None = None,
        timeout: float | None = None,
        **arguments: Unpack[GenerationArguments],
    ) -> AsyncGenerationStream:
        """Generates like `generate`, and returns a stream of events."""
        chosen = tool_set(tools)
        options = generation_options(model, chosen, **arguments)
        if chosen.executable:
            return self._run_tools(options, chosen, repair, timeout, omit_events=False)
        request = StreamGenerateRequest(options=options)
        call = self._calls.stream("StreamGenerate", self._generation.StreamGenerate, lambda: request, timeout)
        return AsyncGenerationStream(call, GenerationDecoder())

    @overload
    async def generate_object(
        self,
        *,
        model: str,
        schema: type[T],
        timeout: float | None = None,
        **arguments: Unpack[ObjectArguments],
    ) -> ObjectResult[T]: ...

    @overload
    async def generate_object(
        self,
        *,
        model: str,
        schema: Mapping[str, object],
        timeout: float | None = None,
        **arguments: Unpack[ObjectArguments],
    ) -> ObjectResult[Any]: ...

    async def generate_object(
        self, *, model: str, schema: Any, timeout: float | None = None, **arguments: Unpack[ObjectArguments]
    ) -> ObjectResult[Any]:
        """Generates an object.

        Args:
            model: The provider's own id of the model.
            schema: Its type: a dataclass, a TypedDict, a pydantic model, or a JSON Schema as a mapping.
            timeout: Seconds for all of it.
            arguments: See ObjectArguments.
        """
        spec = object_spec(model, schema, **arguments)
        request = GenerateObjectRequest(options=spec.options, object=spec.format)
        answer = await self._calls.unary("GenerateObject", self._generation.GenerateObject, request, timeout)
        return object_result(answer.result, spec.shape)

    @overload
    def stream_object(
        self,
        *,
        model: str,
        schema: type[T],
        timeout: float | None = None,
        **arguments: Unpack[ObjectArguments],
    ) -> AsyncObjectStream[T]: ...

    @overload
    def stream_object(
        self,
        *,
        model: str,
        schema: Mapping[str, object],
        timeout: float | None = None,
        **arguments: Unpack[ObjectArguments],
    ) -> AsyncObjectStream[Any]: ...

    def stream_object(
        self, *, model: str, schema: Any, timeout: float | None = None, **arguments: Unpack[ObjectArguments]
    ) -> AsyncObjectStream[Any]:
        """Generates like `generate_object`, and returns a stream of partial objects."""
        spec = object_spec(model, schema, **arguments)
        request = StreamObjectRequest(options=spec.options, object=spec.format)
        call = self._calls.stream("StreamObject", self._generation.StreamObject, lambda: request, timeout)
        return AsyncObjectStream(call, ObjectDecoder(spec.shape))

    async def get_model_info(
        self, model: str, *, provider: str = "", timeout: float | None = None
    ) -> ModelInfo | None:
        """What the catalog knows about a model, by its id or an alias. None if it does not know it."""
        request = GetModelRequest(model=model, provider=provider)
        try:
            return await self._calls.unary("GetModel", self._catalog.GetModel, request, timeout)
        except NotFoundError:
            return None

    async def list_models(
        self,
        *,
        provider: str = "",
        capabilities: Sequence[Capability.ValueType] = (),
        timeout: float | None = None,
    ) -> AsyncIterator[ModelInfo]:
        """The known models that have all these capabilities, newest first within a provider."""
        token = ""
        while True:
            request = ListModelsRequest(provider=provider, capabilities=capabilities, page_token=token)
            page = await self._calls.unary("ListModels", self._catalog.ListModels, request, timeout)
            for model in page.models:
                yield model
            token = page.next_page_token
            if not token:
                return

    async def get_latest_model(
        self,
        provider: str,
        *,
        capabilities: Sequence[Capability.ValueType] = (),
        timeout: float | None = None,
    ) -> ModelInfo | None:
        """A provider's newest model that has all these capabilities. None if none has."""
        request = GetLatestModelRequest(provider=provider, capabilities=capabilities)
        try:
            return await self._calls.unary("GetLatestModel", self._catalog.GetLatestModel, request, timeout)
        except NotFoundError:
            return None

    def _run_tools(
        self,
        options: GenerationOptions,
        tools: ToolSet,
        repair: RepairFunction | None,
        timeout: float | None,
        *,
        omit_events: bool,
    ) -> AsyncGenerationStream:
        start = run_tools_start(options, tools, omit_events=omit_events, repair_calls=repair is not None)
        loop = ToolLoop(start, tools, repair, hide_errors=self._hide_tool_errors)
        tasks = ToolTasks(loop, self._max_concurrent_tools)
        call = self._calls.stream("RunTools", self._generation.RunTools, tasks.requests, timeout)
        return AsyncGenerationStream(call, GenerationDecoder(), tasks)
