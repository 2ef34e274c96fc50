"""Calls a sidecar's `/v1` with OpenAI's SDK for Python, the way a program does that was written for OpenAI: only the
base URL and the names of the models differ. Each check runs for every provider.
"""

import os
import sys

from checks import run_checks
from openai import OpenAI

import answers
import conversations
import failures
import sockets
import stored
import tools
from target import Target

CHECKS = (
    *answers.CHECKS,
    *tools.CHECKS,
    *stored.CHECKS,
    *conversations.CHECKS,
    *failures.CHECKS,
    *sockets.CHECKS,
)

if __name__ == "__main__":
    client = OpenAI(base_url=f"http://{os.environ['OUTRIGGER_ADDR']}/v1", api_key="any")
    sys.exit(run_checks(lambda provider: Target(client, provider), CHECKS))
