"""The types of the package, as a strict type checker sees them from a program of its users."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

from mypy import api

ROOT = Path(__file__).parent.parent

PROGRAM = """
from dataclasses import dataclass
from outrigger_client import AsyncClient, Client, tool

@dataclass
class Person:
    name: str

@tool
def double(value: int) -> int:
    return value * 2

def call(client: Client) -> None:
    reveal_type(double(2))
    reveal_type(client.generate_object(model="m", schema=Person).output)
    reveal_type(client.stream_object(model="m", schema=Person).result().output)
    reveal_type(client.generate(model="m", prompt="p", tools=[double]).usage)
    for text in client.stream_generate(model="m").text():
        reveal_type(text)
    client.generate(model="m", temprature=1)
    double("2")

async def call_later(client: AsyncClient) -> None:
    reveal_type((await client.generate_object(model="m", schema=Person)).output)
    async for event in client.stream_generate(model="m"):
        reveal_type(event.step)
"""

REVEALED = ["int", "Person", "Person", "Usage | None", "str", "Person", "int"]
REFUSED = [
    'Unexpected keyword argument "temprature" for "generate" of "Client"; did you mean "temperature"?',
    'Argument 1 to "__call__" of "Tool" has incompatible type "str"; expected "int"',
]


def check(*arguments: str) -> tuple[str, int]:
    """The output and exit code of mypy with the settings of pyproject.toml."""
    output, problems, code = api.run(["--config-file", str(ROOT / "pyproject.toml"), *arguments])
    return output + problems, code


class TypesTest(unittest.TestCase):
    """The package is typed, and so is what programs get from it."""

    def test_package_examples_and_tests_pass_under_strict(self) -> None:
        output, code = check()
        self.assertEqual(code, 0, output)

    def test_a_program_gets_exact_types_and_its_mistakes_are_found(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder, "program.py")
            program.write_text(PROGRAM, "utf-8")
            output, _ = check(str(program))
        short = (
            output.replace("builtins.", "")
            .replace("program.", "")
            .replace("outrigger_client.v1.usage_pb2.", "")
        )
        lines = short.splitlines()
        revealed = [line.split('"')[1] for line in lines if "Revealed type" in line]
        self.assertEqual(revealed, REVEALED, output)
        refused = [line.split("error: ")[1].rpartition("  [")[0] for line in lines if "error: " in line]
        self.assertEqual(refused, REFUSED, output)
