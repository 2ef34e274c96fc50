"""An object while it grows, for instance to fill a form as the model writes."""

from typing import TypedDict

from outrigger_client import Client


class Recipe(TypedDict):
    """A recipe."""

    name: str
    ingredients: list[str]
    steps: list[str]


with (
    Client() as client,
    client.stream_object(
        model="sim-text:rate=200", prompt="Invent a soup.", schema=Recipe, timeout=30
    ) as stream,
):
    for count, partial in enumerate(stream, 1):
        print(f"{count}: has {', '.join(partial) or 'nothing yet'}")
    recipe = stream.result().output

print(f"complete: {', '.join(recipe)}")
