"""An agent behind the server of a2a-sdk for A2A 1.0."""

import asyncio
from collections import Counter

from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import a2a_pb2 as pb
from google.protobuf.struct_pb2 import Value
from remote_host import serve
from starlette.applications import Starlette


def text(said: str) -> pb.Part:
    return pb.Part(text=said)


class Agent(AgentExecutor):
    def __init__(self) -> None:
        self.heard = Counter()
        self.stopped = 0

    async def execute(self, context, queue) -> None:
        said = context.get_user_input()
        updater = TaskUpdater(queue, context.task_id, context.context_id)
        self.heard[context.context_id] += 1
        if context.current_task is None:
            await queue.enqueue_event(
                pb.Task(
                    id=context.task_id,
                    context_id=context.context_id,
                    status=pb.TaskStatus(state=pb.TASK_STATE_SUBMITTED),
                    history=[context.message],
                )
            )
        await updater.start_work(updater.new_agent_message([text("on it")]))
        if context.current_task is not None:
            await updater.add_artifact([text(f"Rain in {said}.")], artifact_id="weather", last_chunk=True)
        elif "ask" in said:
            await updater.requires_input(updater.new_agent_message([text("Which city?")]))
            return
        elif "slow" in said:
            for i in range(60):
                await updater.add_artifact([text(f"{i} ")], artifact_id="count", append=i > 0)
                await asyncio.sleep(0.1)
        elif said.startswith("count "):
            count = int(said.removeprefix("count "))
            for i in range(count):
                await updater.add_artifact(
                    [text(f"word{i} ")], artifact_id="answer", append=i > 0, last_chunk=i + 1 == count
                )
        elif "stopped" in said:
            await updater.add_artifact([text(f"Stopped {self.stopped}.")], artifact_id="said", last_chunk=True)
        elif "files" in said:
            await updater.add_artifact(
                [pb.Part(raw=b"a,b\n1,2\n", media_type="text/csv", filename="t.csv")],
                artifact_id="table", name="table", last_chunk=True,
            )
            data = Value()
            data.struct_value.update({"n": 1})
            await updater.add_artifact([pb.Part(data=data)], artifact_id="numbers", name="numbers", last_chunk=True)
            await updater.add_artifact([text("Two files.")], artifact_id="said", last_chunk=True)
        else:
            for i, piece in enumerate([f"You said {said}. ", f"Message {self.heard[context.context_id]}."]):
                await updater.add_artifact([text(piece)], artifact_id="answer", append=i > 0, last_chunk=i == 1)
        await updater.complete()

    async def cancel(self, context, queue) -> None:
        self.stopped += 1
        await TaskUpdater(queue, context.task_id, context.context_id).cancel()


def app(url: str) -> Starlette:
    card = pb.AgentCard(
        name="peer",
        description="A peer.",
        version="1",
        supported_interfaces=[pb.AgentInterface(url=f"{url}/rpc", protocol_binding="JSONRPC", protocol_version="1.0")],
        capabilities=pb.AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[pb.AgentSkill(id="s", name="s", description="s", tags=["s"])],
    )
    handler = DefaultRequestHandler(agent_executor=Agent(), task_store=InMemoryTaskStore(), agent_card=card)
    return Starlette(routes=[*create_agent_card_routes(card), *create_jsonrpc_routes(handler, "/rpc")])


serve(app)
