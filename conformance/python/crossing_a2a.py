"""One conversation, driven by others at the same time: the part of `a2a-sdk`.

    python crossing_a2a.py URL drive|view THREAD
"""

import asyncio
import json
import sys
import uuid

import httpx
from a2a.client import ClientConfig, create_client
from a2a.types import a2a_pb2 as pb

from client import URL

_, _, phase, thread = sys.argv


async def connect(agent):
    return await create_client(agent, ClientConfig(httpx_client=httpx.AsyncClient(timeout=60)))


def request(text):
    parts = [pb.Part(text=text)]
    return pb.SendMessageRequest(
        message=pb.Message(role=pb.ROLE_USER, message_id=str(uuid.uuid4()), context_id=thread, parts=parts)
    )


async def written():
    """Artifacts of three kinds."""
    client = await connect(URL)
    events = [event async for event in client.send_message(request("write it"))]
    names = {event.artifact_update.artifact.name for event in events if event.HasField("artifact_update")}
    assert {"note.md", "choice", "prices"} <= names, names


async def canceled():
    """A turn that is stopped after its first words."""
    client = await connect(f"{URL}/a2a/agents/slow")
    task, last = None, None
    async for event in client.send_message(request("go on")):
        if event.HasField("task"):
            task = event.task.id
        if event.HasField("artifact_update") and last is None:
            last = await client.cancel_task(pb.CancelTaskRequest(id=task))
    assert last.status.state == pb.TASK_STATE_CANCELED, last


async def drive():
    await asyncio.wait_for(asyncio.gather(written(), canceled()), 60)
    print("a2a-sdk is done")


async def view():
    client = await connect(URL)
    asked = pb.ListTasksRequest(context_id=thread, include_artifacts=True, history_length=100)
    story = {"user": [], "assistant": [], "artifacts": [], "canceled": 0}
    for task in (await client.list_tasks(asked)).tasks:
        said = [m for m in task.history if m.role == pb.ROLE_USER]
        story["user"].extend(part.text for message in said for part in message.parts)
        # What an agent says has no name; what it writes has.
        said = [artifact for artifact in task.artifacts if not artifact.name]
        story["assistant"].extend("".join(part.text for part in artifact.parts) for artifact in said)
        story["artifacts"].extend(artifact.name for artifact in task.artifacts if artifact.name)
        story["canceled"] += task.status.state == pb.TASK_STATE_CANCELED
    print(json.dumps(story))


asyncio.run(drive() if phase == "drive" else view())
