"""The metadata of a call, and the log of calls."""

from __future__ import annotations

import dataclasses
import logging
import time
from collections.abc import Callable, Iterable, Mapping

_REQUEST_ID = "x-request-id"

_logger = logging.getLogger("outrigger_client")


@dataclasses.dataclass(frozen=True)
class CallInfo:
    """A call that has ended."""

    method: str
    """Name of the method, for instance `Complete`."""
    code: str
    """Name of the status code of gRPC, for instance `OK`."""
    duration: float
    """Seconds from the call to its end."""
    headers: Mapping[str, str]
    """Headers and trailers of the answer, by names in lower case, without those that hold bytes."""

    @property
    def request_id(self) -> str:
        """The id under which the sidecar logs the call: the caller's `x-request-id`, or a generated one."""
        return self.headers.get(_REQUEST_ID, "")


OnCall = Callable[[CallInfo], None]
"""Is told of each call that ended."""

Metadata = tuple[tuple[str, str], ...]


@dataclasses.dataclass(frozen=True)
class CallSettings:
    """What all calls of a client have in common."""

    headers: Metadata = ()
    on_call: OnCall | None = None

    def derived(self, headers: Mapping[str, str] | None, on_call: OnCall | None) -> CallSettings:
        """These settings with further headers, and with another listener if there is one."""
        added = tuple((name.lower(), value) for name, value in (headers or {}).items())
        names = {name for name, _ in added}
        kept = tuple(entry for entry in self.headers if entry[0] not in names)
        return CallSettings((*kept, *added), on_call or self.on_call)

    def ended(
        self, method: str, code: str, started: float, metadata: Iterable[tuple[str, str | bytes]]
    ) -> None:
        """Tells the listener and the log of a call. Neither learns any text of it."""
        headers = {name: value for name, value in metadata if isinstance(value, str)}
        info = CallInfo(method, code, time.monotonic() - started, headers)
        if _logger.isEnabledFor(logging.DEBUG):
            line = "%s ended with %s after %.3f s, request id %s"
            _logger.debug(line, method, code, info.duration, info.request_id or "unknown")
        if self.on_call is not None:
            self.on_call(info)
