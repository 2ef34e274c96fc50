"""The tool loop as a stream, with asyncio: what the model writes, and what happens between its steps."""

import asyncio

from outrigger_client import AsyncClient, ModelEvent, StepFinished, ToolStarted, tool


@tool
async def get_weather(city: str) -> str:
    """Reports the current weather of a city.

    Args:
        city: Name of the city, in English.
    """
    await asyncio.sleep(0.05)  # Other tools of the step run meanwhile.
    return f"{city}: 18 degrees and drizzle"


async def main() -> None:
    async with AsyncClient() as client:
        stream = client.stream_generate(
            model="sim-tools:calls=2",
            prompt="How is the weather in Oslo and in Paris?",
            tools=[get_weather],
            timeout=30,
        )
        async with stream:
            async for event in stream:
                match event:
                    case ToolStarted():
                        print(f"runs {event.tool_call.name}")
                    case StepFinished():
                        print(f"[step {event.step}: {len(event.result.tool_results)} tool results]")
                    case ModelEvent():
                        print(event.text, end="", flush=True)
        result = await stream.result()
    print(result.stop_reason)


asyncio.run(main())
