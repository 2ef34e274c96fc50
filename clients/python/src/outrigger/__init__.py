"""The client of Outrigger, the inference sidecar.

What this module exports is stable, and so is the generated code in `outrigger.v1`; the modules beside
it may change.
"""

from outrigger.async_client import AsyncClient
from outrigger.async_runs import AsyncRunEvents, AsyncRuns
from outrigger.async_streams import AsyncCompletionStream, AsyncGenerationStream, AsyncObjectStream
from outrigger.call_info import CallInfo
from outrigger.client import Client
from outrigger.decoders import GenerationEvent, ModelEvent, StepFinished, ToolStarted
from outrigger.errors import (
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
from outrigger.messages import (
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
from outrigger.options import GenerationArguments, ObjectArguments, RetryPolicy
from outrigger.results import GenerateResult, ObjectResult, Step
from outrigger.run_requests import RunArguments
from outrigger.runs import RunEvents, Runs
from outrigger.streams import CompletionStream, GenerationStream, ObjectStream
from outrigger.tool_loop import RepairFunction
from outrigger.tools import AnyTool, Tool, ToolContext, ToolError, ToolRefused, custom_tool, tool
from outrigger.v1.catalog_service_pb2 import Capability, ModelInfo, Price
from outrigger.v1.generation_pb2 import GenerationLimits
from outrigger.v1.message_pb2 import ContentPart, Message, ToolCall, ToolResult
from outrigger.v1.request_pb2 import Request, ResponseFormat, Timeouts, ToolChoice
from outrigger.v1.response_pb2 import Response
from outrigger.v1.run_pb2 import McpServer, Run, RunEvent, RunStatus, ToolApproval
from outrigger.v1.stream_event_pb2 import StreamEvent
from outrigger.v1.tool_pb2 import Tool as ToolDefinition
from outrigger.v1.usage_pb2 import Usage
from outrigger.version import VERSION as __version__

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
    "AuthenticationError",
    "CallInfo",
    "Capability",
    "Client",
    "CompletionStream",
    "ConfigurationError",
    "ContentFilterError",
    "ContentPart",
    "ContextLengthError",
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
