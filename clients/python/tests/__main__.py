"""Runs all tests, and prints one line for each module: `ok <name>`, or `FAIL <name>: reason`.

    python -m tests [name...]

Tests of calls need a sidecar with the simulator behind it (`outrigger demo`) under OUTRIGGER_ADDRESS.
"""

from __future__ import annotations

import sys
import traceback
import unittest
from pathlib import Path


def main(names: list[str]) -> int:
    """Runs the modules that are named, all by default. Returns the exit code."""
    found = sorted(path.stem.removeprefix("test_") for path in Path(__file__).parent.glob("test_*.py"))
    failed = [name for name in names or found if not _run(name)]
    return 1 if failed else 0


def _run(name: str) -> bool:
    try:
        suite = unittest.defaultTestLoader.loadTestsFromName(f"tests.test_{name}")
        result = unittest.TextTestRunner(stream=sys.stderr, verbosity=1).run(suite)
    except Exception as error:
        traceback.print_exc()
        print(f"FAIL {name}: {error}", flush=True)
        return False
    problems = [test.id().rpartition(".")[2] for test, _ in result.failures + result.errors]
    if result.testsRun == 0:
        problems.append("it has no tests")
    print(f"FAIL {name}: {', '.join(problems)}" if problems else f"ok {name}", flush=True)
    return not problems


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
