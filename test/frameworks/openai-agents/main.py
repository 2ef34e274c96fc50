"""OpenAI's agents SDK for Python."""

from collections.abc import AsyncIterator

from agents import Agent, MultiProvider, OpenAIProvider, RunConfig, Runner, RunResultStreaming, function_tool
from pydantic import BaseModel

from harness import (
    API,
    API_KEY,
    BASE_URL,
    NEXT_QUESTION,
    QUESTION,
    Target,
    Weather,
    check_answer,
    check_deltas,
    check_failure,
    main,
)

CONFIG = RunConfig(
    model_provider=OpenAIProvider(base_url=BASE_URL, api_key=API_KEY, use_responses=API == "responses"),
    tracing_disabled=True,
)

# Without these modes, it takes `anthropic` in `anthropic/claude-opus-5` for the name of a provider of its own.
MULTI_PROVIDER_CONFIG = RunConfig(
    model_provider=MultiProvider(
        openai_base_url=BASE_URL,
        openai_api_key=API_KEY,
        openai_use_responses=API == "responses",
        openai_prefix_mode="model_id",
        unknown_prefix_mode="model_id",
    ),
    tracing_disabled=True,
)


class City(BaseModel):
    name: str
    people: int


def agent(target: Target, weather: Weather) -> Agent:
    return Agent(
        name="Assistant",
        instructions="Be brief.",
        model=target.model,
        tools=[function_tool(weather.get_weather)],
    )


async def read_deltas(result: RunResultStreaming) -> AsyncIterator[str]:
    async for event in result.stream_events():
        if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
            yield event.data.delta


async def tools(target: Target) -> None:
    weather = Weather()
    result = await Runner.run(agent(target, weather), QUESTION, run_config=CONFIG)
    check_answer(result.final_output, weather)


async def stream(target: Target) -> None:
    weather = Weather()
    result = Runner.run_streamed(agent(target, weather), QUESTION, run_config=CONFIG)
    deltas = [delta async for delta in read_deltas(result)]
    check_answer(result.final_output, weather)
    check_deltas(deltas, result.final_output)


async def structured_output(target: Target) -> None:
    describer = Agent(name="Describer", model=target.model, output_type=City)
    result = await Runner.run(describer, "Describe Paris.", run_config=CONFIG)
    assert isinstance(result.final_output, City), result.final_output


async def second_turn(target: Target) -> None:
    weather = Weather()
    assistant = agent(target, weather)
    first = await Runner.run(assistant, QUESTION, run_config=MULTI_PROVIDER_CONFIG)
    history = [*first.to_input_list(), {"role": "user", "content": NEXT_QUESTION}]
    second = await Runner.run(assistant, history, run_config=MULTI_PROVIDER_CONFIG)
    check_answer(second.final_output, weather, calls=2)


async def stream_failure(target: Target) -> None:
    result = Runner.run_streamed(Agent(name="Assistant", model=target.failing), QUESTION, run_config=CONFIG)
    await check_failure(read_deltas(result))


main([tools, stream, structured_output, second_turn, stream_failure])
