"""An object instead of a text: its type decides what the model writes."""

from dataclasses import dataclass
from typing import Annotated, Literal

from outrigger_client import Client


@dataclass
class Ticket:
    """What a customer wrote about."""

    title: str
    urgency: Literal["low", "high"]
    products: Annotated[list[str], "Products that are named"]


with Client() as client:
    result = client.generate_object(
        model="sim-text",
        prompt="My kayak leaks, and the race is tomorrow!",
        schema=Ticket,
        timeout=30,
    )

ticket = result.output  # A Ticket, for type checkers too.
print(f"{type(ticket).__name__} with urgency {ticket.urgency} and {len(ticket.products)} products")
