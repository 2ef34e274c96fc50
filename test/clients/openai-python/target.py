"""What a check calls."""

from dataclasses import dataclass

from openai import OpenAI


@dataclass(frozen=True)
class Target:
    """A provider behind the sidecar."""

    openai: OpenAI
    provider: str

    def model(self, script: str) -> str:
        """The full name of a model of the provider's simulator, such as `anthropic/sim-tools:calls=2`."""
        return f"{self.provider}/sim-{script}"
