"""Google's Agent Development Kit, with its model for the Gemini API."""

from collections.abc import AsyncIterator

from google.adk.agents import LlmAgent, RunConfig
from google.adk.agents.run_config import StreamingMode
from google.adk.events import Event
from google.adk.models.google_llm import Gemini
from google.adk.runners import InMemoryRunner
from google.genai import types
from pydantic import BaseModel

from harness import (
    API_KEY,
    NEXT_QUESTION,
    ORIGIN,
    QUESTION,
    Target,
    Weather,
    check_answer,
    check_deltas,
    check_failure,
    main,
)


class City(BaseModel):
    name: str
    people: int


class Session:
    """An agent, and its conversation with a user."""

    def __init__(self, model: str, **settings: object) -> None:
        gemini = Gemini(model=model, client_kwargs={"api_key": API_KEY}, base_url=ORIGIN)
        agent = LlmAgent(name="assistant", model=gemini, instruction="Be brief.", **settings)
        self._runner = InMemoryRunner(agent=agent, app_name="checks")
        self._runner.auto_create_session = True

    async def stream(self, question: str, mode: StreamingMode = StreamingMode.SSE) -> AsyncIterator[Event]:
        message = types.Content(role="user", parts=[types.Part(text=question)])
        settings = RunConfig(streaming_mode=mode)
        async for event in self._runner.run_async(
            user_id="user", session_id="session", new_message=message, run_config=settings
        ):
            # A failure is such an event, not an exception.
            if event.error_code:
                raise RuntimeError(event.error_message)
            yield event

    async def ask(self, question: str) -> str:
        return [text_of(event) async for event in self.stream(question, StreamingMode.NONE)][-1]


def text_of(event: Event) -> str:
    parts = event.content.parts if event.content and event.content.parts else []
    return "".join(part.text or "" for part in parts if not part.thought)


async def tools(target: Target) -> None:
    weather = Weather()
    check_answer(await Session(target.model, tools=[weather.get_weather]).ask(QUESTION), weather)


async def stream(target: Target) -> None:
    weather = Weather()
    events = [event async for event in Session(target.model, tools=[weather.get_weather]).stream(QUESTION)]
    answer = text_of(events[-1])
    check_answer(answer, weather)
    check_deltas([text_of(event) for event in events if event.partial and text_of(event)], answer)


async def structured_output(target: Target) -> None:
    City.model_validate_json(await Session(target.model, output_schema=City).ask("Describe Paris."))


async def second_turn(target: Target) -> None:
    weather = Weather()
    session = Session(target.model, tools=[weather.get_weather])
    await session.ask(QUESTION)
    check_answer(await session.ask(NEXT_QUESTION), weather, calls=2)


async def stream_failure(target: Target) -> None:
    await check_failure(read_deltas(Session(target.failing)))


async def read_deltas(session: Session) -> AsyncIterator[str]:
    async for event in session.stream(QUESTION):
        if text_of(event):
            yield text_of(event)


main([tools, stream, structured_output, second_turn, stream_failure])
