"""Functions of this program as tools: the model calls them, and answers with what they returned."""

from typing import Annotated

from outrigger_client import Client, ToolError, tool

TEMPERATURES = {"Oslo": 18, "Paris": 24}


@tool
def get_weather(city: Annotated[str, "Name of the city, in English"]) -> dict[str, object]:
    """Reports the current weather of a city."""
    if city not in TEMPERATURES:
        raise ToolError(f"there is no report for {city}")
    return {"city": city, "degrees": TEMPERATURES[city], "sky": "clear"}


with Client() as client:
    result = client.generate(
        model="sim-tools",
        prompt="How is the weather in Paris?",
        tools=[get_weather],
        max_tool_rounds=5,
        timeout=30,
    )

for step in result.steps:
    for call in step.tool_calls:
        print(f"called {call.name}({call.arguments_json})")
print(result.text)
print(f"{len(result.steps)} steps, {result.stop_reason}")
