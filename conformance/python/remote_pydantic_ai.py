"""A Pydantic AI agent behind its own `to_a2a`."""

from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models.function import FunctionModel
from remote_host import serve


def answer(messages, _info) -> ModelResponse:
    said = [part.content for m in messages for part in m.parts if isinstance(part, UserPromptPart)]
    return ModelResponse(parts=[TextPart(f"You said {said[-1]}. Message {len(said)}.")])


def app(url: str):
    return Agent(FunctionModel(answer)).to_a2a(url=url)


serve(app)
