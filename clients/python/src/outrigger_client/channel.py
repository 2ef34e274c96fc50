"""The connection to the sidecar: its address, and the options of its channel."""

from __future__ import annotations

import os

from outrigger_client.version import VERSION

DEFAULT_ADDRESS = "localhost:6190"

# Requests and answers hold images, for which gRPC's default of 4 MiB is too small. The sidecar takes
# and sends messages of 32 MiB by default; the result of a tool loop repeats several of them.
MAX_MESSAGE_BYTES = 40 << 20

# gRPC would wait for up to two minutes between two attempts. The sidecar is on the same machine, where an
# attempt costs next to nothing. A call that found no sidecar waits for longer than that before it gives up.
_RECONNECT_MS = 100
_MAX_RECONNECT_MS = 300
_CONNECT_TIMEOUT_MS = 5_000

# A reasoning model may be silent for minutes, in which a dead connection would not be noticed.
_KEEP_ALIVE_MS = 30_000
_KEEP_ALIVE_TIMEOUT_MS = 10_000


def target_of(address: str | None) -> str:
    """The address to connect to: the argument, else OUTRIGGER_ADDRESS, else `localhost:6190`."""
    target = address or os.environ.get("OUTRIGGER_ADDRESS") or DEFAULT_ADDRESS
    if target.startswith(("http://", "https://")):
        raise ValueError(
            f"address: expected host:port or unix:///path, found {target!r}; use tls=True for an encrypted connection"
        )
    return target


def channel_options() -> list[tuple[str, str | int]]:
    """The options of a channel to the sidecar."""
    return [
        ("grpc.primary_user_agent", f"outrigger-python/{VERSION}"),
        ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
        ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
        ("grpc.keepalive_time_ms", _KEEP_ALIVE_MS),
        ("grpc.keepalive_timeout_ms", _KEEP_ALIVE_TIMEOUT_MS),
        ("grpc.initial_reconnect_backoff_ms", _RECONNECT_MS),
        ("grpc.max_reconnect_backoff_ms", _MAX_RECONNECT_MS),
        # Despite its name this bounds an attempt, not the time between two.
        ("grpc.min_reconnect_backoff_ms", _CONNECT_TIMEOUT_MS),
        # gRPC otherwise stops its pings after two without data.
        ("grpc.http2.max_pings_without_data", 0),
        # The machine's proxy is for the internet; the sidecar is next to the program.
        ("grpc.enable_http_proxy", 0),
    ]
