"""An agent behind the server of a2a-sdk for A2A 0.3."""

import asyncio
from collections import Counter

from a2a.server.agent_execution import AgentExecutor
from a2a.server.apps import A2AStarletteApplication
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import (
    AgentCapabilities, AgentCard, AgentSkill, DataPart, FilePart, FileWithBytes, Part, TextPart,
)
from a2a.utils import new_task
from remote_host import serve


def text(said: str) -> Part:
    return Part(root=TextPart(text=said))


class Agent(AgentExecutor):
    def __init__(self) -> None:
        self.heard = Counter()
        self.stopped = 0

    async def execute(self, context, queue) -> None:
        said = context.get_user_input()
        task = context.current_task
        updater = TaskUpdater(queue, context.task_id, context.context_id)
        self.heard[context.context_id] += 1
        if task is None:
            await queue.enqueue_event(new_task(context.message))
        await updater.start_work(updater.new_agent_message([text("on it")]))
        if task is not None:
            await updater.add_artifact([text(f"Rain in {said}.")], artifact_id="weather", last_chunk=True)
        elif "ask" in said:
            await updater.requires_input(updater.new_agent_message([text("Which city?")]), final=True)
            return
        elif "slow" in said:
            for i in range(60):
                await updater.add_artifact([text(f"{i} ")], artifact_id="count", append=i > 0)
                await asyncio.sleep(0.1)
        elif "stopped" in said:
            await updater.add_artifact([text(f"Stopped {self.stopped}.")], artifact_id="said", last_chunk=True)
        elif "files" in said:
            table = FileWithBytes(bytes="YSxiCjEsMgo=", mime_type="text/csv", name="t.csv")
            await updater.add_artifact([Part(root=FilePart(file=table))], artifact_id="table", name="table", last_chunk=True)
            await updater.add_artifact([Part(root=DataPart(data={"n": 1}))], artifact_id="numbers", name="numbers", last_chunk=True)
            await updater.add_artifact([text("Two files.")], artifact_id="said", last_chunk=True)
        else:
            for i, piece in enumerate([f"You said {said}. ", f"Message {self.heard[context.context_id]}."]):
                await updater.add_artifact([text(piece)], artifact_id="answer", append=i > 0, last_chunk=i == 1)
        await updater.complete()

    async def cancel(self, context, queue) -> None:
        self.stopped += 1
        await TaskUpdater(queue, context.task_id, context.context_id).cancel()


def app(url: str):
    card = AgentCard(
        name="peer",
        description="A peer.",
        version="1",
        url=url,
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="s", name="s", description="s", tags=["s"])],
    )
    handler = DefaultRequestHandler(agent_executor=Agent(), task_store=InMemoryTaskStore())
    return A2AStarletteApplication(agent_card=card, http_handler=handler).build()


serve(app)
