"""A2A 0.3 through `a2a-sdk` 0.3.26, unchanged, over JSON-RPC and HTTP+JSON.

    python client_a2a_v0_3.py URL
"""

import asyncio
import json
import threading
import uuid
from http.server import BaseHTTPRequestHandler, HTTPServer

import httpx
from a2a.client import ClientConfig, ClientFactory
from a2a.client.errors import A2AClientError
from a2a.types import (
    Message,
    Part,
    PushNotificationConfig,
    Role,
    TaskIdParams,
    TaskPushNotificationConfig,
    TaskQueryParams,
    TaskState,
    TextPart,
)

from client import URL, answered_by, api, check
from cutting import Cutting


def run(work):
    return lambda: asyncio.run(asyncio.wait_for(work(), 60))


async def connect(transport="JSONRPC", agent=URL, **more):
    config = ClientConfig(
        supported_transports=[transport],
        use_client_preference=True,
        httpx_client=httpx.AsyncClient(timeout=60),
        **more,
    )
    return await ClientFactory.connect(agent, config)


def message(text, **more):
    parts = [Part(root=TextPart(text=text))]
    return Message(role=Role.user, message_id=str(uuid.uuid4()), parts=parts, **more)


async def sent(client, text, **more):
    """The task as the client's own library knows it at the end."""
    task = None
    async for event in client.send_message(message(text, **more)):
        task = event[0]
    return task


def text_of(task):
    return "".join(p.root.text for a in task.artifacts or [] for p in a.parts if p.root.kind == "text")


async def both(work):
    for transport in ["JSONRPC", "HTTP+JSON"]:
        await work(await connect(transport), transport)


async def streams():
    async def one(client, transport):
        task = await sent(client, "hello")
        assert task.status.state == TaskState.completed, task
        assert text_of(task) == "You said: hello", (transport, task)
        assert "You said: hello" in json.dumps(api(f"/api/threads/{task.context_id}"))
        again = await client.get_task(TaskQueryParams(id=task.id))
        assert text_of(again) == "You said: hello"
        assert [p.root.text for m in again.history for p in m.parts] == ["hello"]

    await both(one)


async def blocking():
    task = await sent(await connect(streaming=False), "search for it")
    assert task.status.state == TaskState.completed and "Three airlines" in text_of(task)


async def answers():
    async def one(client, transport):
        task = await sent(client, "book it")
        assert task.status.state == TaskState.input_required, task
        task = await sent(client, "yes", task_id=task.id, context_id=task.context_id)
        assert task.status.state == TaskState.completed, task
        assert "What you decided is done." in text_of(task)

    await both(one)


async def cancels():
    async def one(client, transport):
        task = await sent(client, "ask me")
        canceled = await client.cancel_task(TaskIdParams(id=task.id))
        assert canceled.status.state == TaskState.canceled
        try:
            await client.cancel_task(TaskIdParams(id=task.id))
        except A2AClientError:
            return
        raise AssertionError("canceled once")

    await both(one)


async def follows_through_cuts():
    async def one(transport, cutting):
        client = await connect(transport, agent=cutting.url)
        task = None
        context = answered_by("slow")
        # The same message again is the same task, should its answer be lost before the task's id.
        said = message("go", context_id=context)
        while task is None or task.status.state != TaskState.completed:
            cuts = cutting.cuts
            if task is None:
                stream = client.send_message(said)
            else:
                stream = client.resubscribe(TaskIdParams(id=task.id))
            try:
                async for event in stream:
                    task = event[0]
            except A2AClientError as error:
                if cutting.cuts > cuts:
                    continue
                # It was over when the client came again. Over HTTP+JSON the SDK keeps the reason to itself.
                task = await client.get_task(TaskQueryParams(id=task.id))
                assert task.status.state == TaskState.completed, error
        assert text_of(task) == " ".join(f"w{i}" for i in range(1, 101)), text_of(task)
        assert len(api(f"/api/threads/{task.context_id}")["tasks"]) == 1, "said once"

    for transport in ["JSONRPC", "HTTP+JSON"]:
        with Cutting(1200) as cutting:
            # Again, if it was over before.
            while cutting.cuts < cutting.most:
                await one(transport, cutting)


class Hook(BaseHTTPRequestHandler):
    got = []

    def do_POST(self):
        Hook.got.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


async def pushes():
    server = HTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    client = await connect()
    task = await sent(client, "ask me")
    own = PushNotificationConfig(url=f"http://127.0.0.1:{server.server_port}/", token="t")
    config = TaskPushNotificationConfig(task_id=task.id, push_notification_config=own)
    await client.set_task_callback(config)
    await sent(client, "blue", task_id=task.id, context_id=task.context_id)
    for _ in range(1000):
        if Hook.got and Hook.got[-1]["status"]["state"] == "completed":
            break
        await asyncio.sleep(0.02)
    states = [body["status"]["state"] for body in Hook.got]
    assert states[-1] == "completed" and "completed" not in states[:-1], states
    assert all(body["kind"] == "task" for body in Hook.got)
    server.shutdown()


async def refuses():
    client = await connect()
    for request in [
        client.get_task(TaskQueryParams(id="nobody's")),
        client.cancel_task(TaskIdParams(id="nobody's")),
    ]:
        try:
            await request
        except A2AClientError:
            continue
        raise AssertionError("refused in A2A's own words")


check("messages are answered in a stream, and are in every other view", run(streams))
check("messages are answered at once, when the task is done", run(blocking))
check("a task that asks goes on with a message to it", run(answers))
check("a task is canceled once", run(cancels))
check("a stream that is cut 20 times at any byte is followed without a gap or a double", run(follows_through_cuts))
check("a webhook is told the whole task, in order", run(pushes))
check("bad requests are refused in A2A's own words", run(refuses))
