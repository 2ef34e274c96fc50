"""What the docstring of a function says about it and its parameters."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import NamedTuple

_SECTION = re.compile(r"^(Args|Arguments|Parameters|Returns?|Yields?|Raises|Examples?|Notes?):\s*$")
_PARAMETER = re.compile(r"^\s+\*{0,2}(\w+)\s*(?:\([^)]*\))?:\s*(.*)$")


class Docstring(NamedTuple):
    """A docstring's description, and those of the parameters in its `Args:` section."""

    description: str
    parameters: Mapping[str, str]


def docstring_of(function: object) -> Docstring:
    """Reads a docstring in Google's style. A section other than `Args:` belongs to no description."""
    description: list[str] = []
    arguments: list[str] = []
    section = ""
    for line in (inspect.getdoc(function) or "").splitlines():
        heading = _SECTION.match(line)
        if heading:
            section = heading[1]
        elif section == "":
            description.append(line)
        elif section in ("Args", "Arguments", "Parameters"):
            arguments.append(line)
    return Docstring("\n".join(description).strip(), _parameters(arguments))


def _parameters(lines: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    name, indent = "", 0
    for line in lines:
        parameter = _PARAMETER.match(line)
        depth = len(line) - len(line.lstrip())
        if parameter and (name == "" or depth <= indent):
            name, indent = parameter[1], depth
            found[name] = parameter[2].strip()
        elif name and line.strip():
            found[name] = f"{found[name]} {line.strip()}".strip()
    return found
