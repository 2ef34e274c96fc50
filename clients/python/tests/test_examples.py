"""The programs in examples/ and in the README, run as their readers run them."""

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
    "chat": r"> What is an outrigger\?\n.+> Who invented it\?\n.+4 messages\n",
    "tools": r"called get_weather\(.*\"Paris\".*\)\n.*24.*\n2 steps, completed\n",
    "stream_tools": (
        r"(runs get_weather\n){2}\[step 1: 2 tool results\]\n"
        r".*drizzle.*\[step 2: 0 tool results\]\ncompleted\n"
    ),
    "object": r"Ticket with urgency (low|high) and \d+ products\n",
    "stream_object": r"1: has .*\n.*complete: name, ingredients, steps\n",
    "runs": (r"You asked: .*\nRUN_STATUS_COMPLETED in 1 step\n(in the thread: RUN_STATUS_COMPLETED\n){2}"),
    "threads": (
        r"USER: My name is Ada\.\nASSISTANT: Hello, Ada\.\n"
        r"USER: What is my name\?\nASSISTANT: You asked: .*\n"
    ),
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

    def test_the_programs_of_the_readme_run_as_they_are(self) -> None:
        programs = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
        self.assertLessEqual(programs[0].count("\n"), 15)
        for number, program in enumerate(programs):
            with self.subTest(number=number):
                self.assertTrue(run("-c", program))
