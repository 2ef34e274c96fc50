"""The style of the code, as pyproject.toml sets it."""

from __future__ import annotations

import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).parent.parent


class StyleTest(unittest.TestCase):
    """Package, examples and tests are linted and formatted by one tool."""

    def test_the_linter_and_the_formatter_have_nothing_to_change(self) -> None:
        for command in (["check"], ["format", "--diff"]):
            with self.subTest(command=command):
                arguments = [sys.executable, "-m", "ruff", *command, "--cache-dir", "build/ruff", "."]
                result = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True)
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
