"""The requests of the run engine, and where the reading of a run's events stands: shared by both clients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from outrigger_client.errors import AbortError, OutriggerError, RequestTimeoutError, error_of, local_error
from outrigger_client.options import GenerationArguments, generation_options
from outrigger_client.tools import AnyTool, tool_set
from outrigger_client.v1.error_pb2 import ErrorKind
from outrigger_client.v1.message_pb2 import ToolResult
from outrigger_client.v1.run_pb2 import McpServer, Run, RunEvent, RunStatus, ToolApproval
from outrigger_client.v1.run_service_pb2 import (
    CreateRunRequest,
    ListRunsRequest,
    StreamRunRequest,
    SubmitToolResultsRequest,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

RESUME_DELAY = 0.25
"""Seconds between two attempts to resume, unless the sidecar names more."""

_UNDER_WAY = (RunStatus.RUN_STATUS_QUEUED, RunStatus.RUN_STATUS_IN_PROGRESS)


class RunArguments(GenerationArguments, total=False):
    """Keyword arguments of a run: those of a generation, and how the run is kept. Each is optional."""

    tools: Sequence[AnyTool]
    """Tools. A run executes no function of this process: their calls end it with REQUIRES_ACTION."""
    previous_run_id: str
    """The run to continue. Not together with `thread_id`."""
    thread_id: str
    """The thread to continue. Default: a new one, or that of the previous run."""
    background: bool
    """Whether the run continues when the caller is gone. `create` then returns at once. Default false."""
    store: bool
    """Whether the run is stored. Default true."""
    labels: Mapping[str, str]
    """Stored with the run: at most 16. `metadata` is for the provider."""
    mcp_servers: Sequence[McpServer]
    """MCP servers whose tools the model may call. The sidecar executes them."""
    approvals: Sequence[ToolApproval]
    """Decisions on calls that need approval."""
    inherit_tools: bool
    """Whether the tools and MCP servers of the previous run are used if there are none here."""


def create_request(model: str, /, **arguments: Unpack[RunArguments]) -> CreateRunRequest:
    """The request that creates a run. Raises TypeError for an unknown argument."""
    request = CreateRunRequest(
        previous_run_id=arguments.pop("previous_run_id", ""),
        thread_id=arguments.pop("thread_id", ""),
        background=arguments.pop("background", False),
        store=arguments.pop("store", None),
        metadata=arguments.pop("labels", {}),
        mcp_servers=arguments.pop("mcp_servers", ()),
        approvals=arguments.pop("approvals", ()),
        inherit_tools=arguments.pop("inherit_tools", False),
    )
    tools = tool_set(arguments.pop("tools", ()))
    # What is left are the arguments of every generation.
    rest: GenerationArguments = arguments
    request.options.CopyFrom(generation_options(model, tools, **rest))
    return request


def submit_request(
    run_id: str, results: Sequence[ToolResult], approvals: Sequence[ToolApproval]
) -> SubmitToolResultsRequest:
    """The request that continues a run."""
    return SubmitToolResultsRequest(run_id=run_id, results=results, approvals=approvals)


def list_request(
    thread_id: str, statuses: Sequence[RunStatus.ValueType], page_size: int, token: str
) -> ListRunsRequest:
    """The request of one page."""
    return ListRunsRequest(thread_id=thread_id, statuses=statuses, page_size=page_size, page_token=token)


def is_under_way(run: Run) -> bool:
    """Whether a run is neither over nor waits for its caller."""
    return run.status in _UNDER_WAY


class RunPosition:
    """How far the events of a run have been read, and whether they can be resumed.

    Args:
        run_id: Empty if the run is being created.
        after: Number of the last event that is known; None for none.
    """

    def __init__(self, run_id: str, after: int | None) -> None:
        self.run_id = run_id
        self._last = after
        self.is_over = False
        """Whether the run has ended or requires action."""
        self._failure: OutriggerError | None = None
        self._was_reached = False

    @property
    def request(self) -> StreamRunRequest:
        """Asks for the events that have not been read."""
        return StreamRunRequest(run_id=self.run_id, after_sequence=self._last)

    def take(self, event: RunEvent) -> None:
        """Notes an event that was read."""
        self._last = event.sequence
        if event.HasField("run"):
            self.is_over = not is_under_way(event.run)
            has_failed = event.run.status == RunStatus.RUN_STATUS_FAILED and event.run.HasField("error")
            self._failure = error_of(event.run.error) if has_failed else None
            if event.run.background:
                self.run_id = event.run.id

    def must_resume(self, error: OutriggerError | None, *, is_unsent: bool) -> bool:
        """Whether there may be further events after a stream ended like this.

        Raises if it failed for good, or if the run failed: only the stream that created it says so itself. A
        sidecar that drains, or whose store is away, fails a stream with an error that may be retried; a server
        that stops may reset it, which looks like a cancellation.

        Args:
            error: What ended the stream, unless its reader cancelled it. None for an end without the run's last
                event.
            is_unsent: Whether there was no sidecar to send the call to.
        """
        if self.is_over:
            failure = error or self._failure
            if failure is not None:
                raise failure
            return False
        self._was_reached = self._was_reached or not is_unsent
        is_mended = error is None or error.retryable or isinstance(error, AbortError)
        may_go_on = is_mended and not isinstance(error, RequestTimeoutError)
        if self.run_id and self._was_reached and may_go_on:
            return True
        message = "the events of the run ended without its last one"
        raise error or local_error(ErrorKind.ERROR_KIND_STREAM, message)


def resume_delay(error: OutriggerError | None) -> float:
    """Seconds to wait before the stream of a run's events is opened again."""
    return max(RESUME_DELAY, (error and error.retry_after) or 0)
