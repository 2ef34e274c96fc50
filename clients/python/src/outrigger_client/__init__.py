"""The client of Outrigger, the inference sidecar.

What this module exports is stable, and so is the generated code in `outrigger_client.v1`; the modules beside
it may change.
"""

from outrigger_client.async_client import AsyncClient
from outrigger_client.async_runs import AsyncRunEvents, AsyncRuns
from outrigger_client.async_streams import AsyncCompletionStream, AsyncGenerationStream, AsyncObjectStream
from outrigger_client.async_threads import AsyncThreads
from outrigger_client.call_info import CallInfo
from outrigger_client.client import Client
from outrigger_client.decoders import GenerationEvent, ModelEvent, StepFinished, ToolStarted
from outrigger_client.errors import (
    AbortError,
    AccessDeniedError,
    AuthenticationError,
    ConfigurationError,
    ContentFilterError,
    ContextLengthError,
    FieldViolation,
    InternalError,
    InvalidRequestError,
    InvalidToolCallError,
    NetworkError,
    NoObjectGeneratedError,
    NotFoundError,
    OutriggerError,
    ProviderError,
    QuotaExceededError,
    RateLimitError,
    RequestTimeoutError,
    ServerError,
    StreamError,
    UnsupportedToolChoiceError,
)
from outrigger_client.messages import (
    MessageDict,
    assistant_message,
    audio_part,
    developer_message,
    document_part,
    image_part,
    reasoning_of,
    system_message,
    text_of,
    text_part,
    tool_calls_of,
    tool_result_message,
    user_message,
)
from outrigger_client.options import GenerationArguments, ObjectArguments, RetryPolicy
from outrigger_client.results import GenerateResult, ObjectResult, Step
from outrigger_client.run_requests import RunArguments
from outrigger_client.runs import RunEvents, Runs
from outrigger_client.streams import CompletionStream, GenerationStream, ObjectStream
from outrigger_client.threads import Threads
from outrigger_client.tool_loop import RepairFunction
from outrigger_client.tools import AnyTool, Tool, ToolContext, ToolError, ToolRefused, custom_tool, tool
from outrigger_client.v1.attempt_pb2 import Attempt
from outrigger_client.v1.catalog_service_pb2 import Capability, ModelInfo, Price
from outrigger_client.v1.embedding_service_pb2 import EmbedResponse
from outrigger_client.v1.generation_pb2 import FailedGeneration, GenerationLimits
from outrigger_client.v1.inference_service_pb2 import CountTokensResponse
from outrigger_client.v1.message_pb2 import ContentPart, Message, ToolCall, ToolResult
from outrigger_client.v1.request_pb2 import Request, ResponseFormat, Timeouts, ToolChoice
from outrigger_client.v1.response_pb2 import Response
from outrigger_client.v1.run_pb2 import McpServer, Run, RunEvent, RunStatus, ToolApproval
from outrigger_client.v1.stream_event_pb2 import StreamEvent
from outrigger_client.v1.thread_pb2 import Thread, ThreadMessage
from outrigger_client.v1.tool_pb2 import Tool as ToolDefinition
from outrigger_client.v1.usage_pb2 import Usage
from outrigger_client.version import VERSION as __version__

__all__ = [
    "AbortError",
    "AccessDeniedError",
    "AnyTool",
    "AsyncClient",
    "AsyncCompletionStream",
    "AsyncGenerationStream",
    "AsyncObjectStream",
    "AsyncRunEvents",
    "AsyncRuns",
    "AsyncThreads",
    "Attempt",
    "AuthenticationError",
    "CallInfo",
    "Capability",
    "Client",
    "CompletionStream",
    "ConfigurationError",
    "ContentFilterError",
    "ContentPart",
    "ContextLengthError",
    "CountTokensResponse",
    "EmbedResponse",
    "FailedGeneration",
    "FieldViolation",
    "GenerateResult",
    "GenerationArguments",
    "GenerationEvent",
    "GenerationLimits",
    "GenerationStream",
    "InternalError",
    "InvalidRequestError",
    "InvalidToolCallError",
    "McpServer",
    "Message",
    "MessageDict",
    "ModelEvent",
    "ModelInfo",
    "NetworkError",
    "NoObjectGeneratedError",
    "NotFoundError",
    "ObjectArguments",
    "ObjectResult",
    "ObjectStream",
    "OutriggerError",
    "Price",
    "ProviderError",
    "QuotaExceededError",
    "RateLimitError",
    "RepairFunction",
    "Request",
    "RequestTimeoutError",
    "Response",
    "ResponseFormat",
    "RetryPolicy",
    "Run",
    "RunArguments",
    "RunEvent",
    "RunEvents",
    "RunStatus",
    "Runs",
    "ServerError",
    "Step",
    "StepFinished",
    "StreamError",
    "StreamEvent",
    "Thread",
    "ThreadMessage",
    "Threads",
    "Timeouts",
    "Tool",
    "ToolApproval",
    "ToolCall",
    "ToolChoice",
    "ToolContext",
    "ToolDefinition",
    "ToolError",
    "ToolRefused",
    "ToolResult",
    "ToolStarted",
    "UnsupportedToolChoiceError",
    "Usage",
    "__version__",
    "assistant_message",
    "audio_part",
    "custom_tool",
    "developer_message",
    "document_part",
    "image_part",
    "reasoning_of",
    "system_message",
    "text_of",
    "text_part",
    "tool",
    "tool_calls_of",
    "tool_result_message",
    "user_message",
]
