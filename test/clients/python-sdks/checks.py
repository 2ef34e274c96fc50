"""Runs the checks of a program with a provider's SDK, each of them for every provider behind the sidecar."""

import sys
import traceback
from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")

PROVIDERS = ("openai", "anthropic", "gemini", "compatible")


def run_checks(create_target: Callable[[str], T], checks: Iterable[Callable[[T], None]]) -> int:
    """Runs the checks whose names contain the program's argument, or all. Returns the exit code.

    Args:
        create_target: Makes what a check calls, for the name of a provider.
        checks: Functions; their names are those of the checks.
    """
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    targets = {provider: create_target(provider) for provider in PROVIDERS}
    results = [
        _run(f"{provider}/{check.__name__}", check, target)
        for provider, target in targets.items()
        for check in checks
        if wanted in f"{provider}/{check.__name__}"
    ]
    return 0 if all(results) else 1


def _run(name: str, check: Callable[[T], None], target: T) -> bool:
    """Runs one check. An exception fails that check, and the others still run."""
    try:
        check(target)
    except Exception as error:
        traceback.print_exc()
        print(f"FAIL {name}: {' '.join(str(error).split()) or type(error).__name__}", flush=True)
        return False
    print(f"ok {name}", flush=True)
    return True
