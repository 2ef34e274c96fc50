"""A sidecar that is reached over the network: it proves who it is by its certificate, and asks for the caller's."""

import os
from pathlib import Path

import grpc
from outrigger.v1.inference_service_pb2_grpc import InferenceServiceStub

import calls
from calls import expect


def check_tls() -> None:
    folder = Path(os.environ["OUTRIGGER_TLS_FOLDER"])
    authority, certificate, key = (
        (folder / name).read_bytes() for name in ("ca.crt", "client.crt", "client.key")
    )
    complete(grpc.ssl_channel_credentials(authority, key, certificate))
    refused(grpc.ssl_channel_credentials(authority), "without a certificate")
    refused(grpc.ssl_channel_credentials(None, key, certificate), "without the authority")


def complete(credentials: grpc.ChannelCredentials) -> None:
    with grpc.secure_channel(os.environ["OUTRIGGER_TLS_ADDR"], credentials) as channel:
        calls.check_complete(InferenceServiceStub(channel))


def refused(credentials: grpc.ChannelCredentials, how: str) -> None:
    try:
        complete(credentials)
    except grpc.RpcError as error:
        expect(error.code() == grpc.StatusCode.UNAVAILABLE, f"{how}: {error.code()}, want UNAVAILABLE")
        return
    raise AssertionError(f"{how}: the call succeeded")
