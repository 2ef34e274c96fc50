"""The programs in examples/, run as their readers run them."""

from __future__ import annotations

import re
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).parent.parent

OUTPUTS = {
    "first_call": r"You asked: .*\nsim-text: \d+ \+ \d+ tokens\n",
    "stream": r"openai answers\nYou asked: .*\n\d+ tokens of output\n",
    "errors": (
        r"RATE_LIMIT by openai: retryable True, after 2\.0 s\n"
        r"INVALID_REQUEST: messages is empty, expected at least one message\n"
        r"(received '.*'\n)+STREAM: output had started: True\n"
        r"REQUEST_TIMEOUT, also a TimeoutError: True\nABORT\n"
    ),
}


def run(*arguments: str) -> str:
    """Runs a program and gives its output. Fails where it does."""
    command = [sys.executable, "-X", "dev", *arguments]
    result = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=60)
    if result.returncode != 0:
        raise AssertionError(result.stderr)
    return result.stdout


class ExampleTest(unittest.TestCase):
    """Each example does what it says."""

    def test_each_example_prints_what_it_should(self) -> None:
        names = sorted(path.stem for path in (ROOT / "examples").glob("*.py"))
        self.assertEqual(names, sorted(OUTPUTS))
        for name in names:
            with self.subTest(name=name):
                output = run(str(ROOT / "examples" / f"{name}.py"))
                self.assertRegex(output, re.compile(rf"\A{OUTPUTS[name]}\Z", re.DOTALL))
