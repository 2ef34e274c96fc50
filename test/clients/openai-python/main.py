"""Calls a sidecar's `/v1` with OpenAI's SDK for Python, the way a program does that was written for OpenAI: only the
base URL and the names of the models differ. Each check runs for every provider.
"""

import os
import sys
import traceback
from collections.abc import Callable

from openai import OpenAI

import answers
import conversations
import failures
import sockets
import stored
import tools
from target import Target

CHECKS: dict[str, Callable[[Target], None]] = {
    **answers.CHECKS,
    **tools.CHECKS,
    **stored.CHECKS,
    **conversations.CHECKS,
    **failures.CHECKS,
    **sockets.CHECKS,
}


def main() -> int:
    client = OpenAI(base_url=f"http://{os.environ['OUTRIGGER_ADDR']}/v1", api_key="any")
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    targets = [Target(client, provider) for provider in ("openai", "anthropic", "gemini", "compatible")]
    results = [
        run(f"{target.provider}/{name}", lambda: check(target))
        for target in targets
        for name, check in CHECKS.items()
        if wanted in f"{target.provider}/{name}"
    ]
    return 0 if all(results) else 1


def run(name: str, check: Callable[[], None]) -> bool:
    """Runs one check. An exception fails that check, and the others still run."""
    try:
        check()
    except Exception as error:
        traceback.print_exc()
        print(f"FAIL {name}: {' '.join(str(error).split()) or type(error).__name__}", flush=True)
        return False
    print(f"ok {name}", flush=True)
    return True


if __name__ == "__main__":
    sys.exit(main())
