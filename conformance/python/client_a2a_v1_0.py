"""A2A 1.0 through `a2a-sdk` 1.3.0, unchanged, over JSON-RPC and HTTP+JSON.

    python client_a2a_v1_0.py URL
"""

import asyncio
import json
import threading
import uuid
from http.server import BaseHTTPRequestHandler, HTTPServer

import httpx
from a2a.client import ClientConfig, create_client
from a2a.client.client import ClientCallContext
from a2a.utils.errors import A2AError
from a2a.types import a2a_pb2 as pb

from client import URL, answered_by, api, check
from cutting import Cutting

EVENTS = "https://selvedge.dev/a2a/events/v1"
SEQUENCE = "https://selvedge.dev/a2a/sequence/v1"
OVER = ["TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED"]


def run(work):
    return lambda: asyncio.run(asyncio.wait_for(work(), 60))


async def connect(binding="JSONRPC", agent=URL, **more):
    config = ClientConfig(
        supported_protocol_bindings=[binding],
        httpx_client=httpx.AsyncClient(timeout=60),
        **more,
    )
    return await create_client(agent, config)


def message(text, **more):
    return pb.Message(
        role=pb.ROLE_USER, message_id=str(uuid.uuid4()), parts=[pb.Part(text=text)], **more
    )


async def sent(client, text, context=None, **more):
    request = pb.SendMessageRequest(message=message(text, **more))
    return [event async for event in client.send_message(request, context=context)]


class Reduced:
    """What a client knows of a task: the task as it was told first, and all updates since."""

    def __init__(self):
        self.task = None

    def take(self, event):
        if event.HasField("task"):
            self.task = event.task
        elif event.HasField("status_update"):
            assert event.status_update.task_id == self.task.id
            self.task.status.CopyFrom(event.status_update.status)
        elif event.HasField("artifact_update"):
            update = event.artifact_update
            assert update.task_id == self.task.id
            known = [a for a in self.task.artifacts if a.artifact_id == update.artifact.artifact_id]
            assert bool(known) == bool(update.append), "more only of what is known"
            if known:
                known[0].parts.extend(update.artifact.parts)
            else:
                self.task.artifacts.append(update.artifact)

    def text(self):
        return "".join(part.text for a in self.task.artifacts for part in a.parts)

    def state(self):
        return pb.TaskState.Name(self.task.status.state)


def reduced(events):
    own = Reduced()
    for event in events:
        own.take(event)
    return own


async def both(work):
    for binding in ["JSONRPC", "HTTP+JSON"]:
        await work(await connect(binding), binding)


async def streams():
    async def one(client, binding):
        own = reduced(await sent(client, "hello"))
        assert own.state() == "TASK_STATE_COMPLETED", own.task
        assert own.text() == "You said: hello", own.text()
        # It is the same conversation in every other view.
        thread = api(f"/api/threads/{own.task.context_id}")
        assert "You said: hello" in json.dumps(thread)
        task = await client.get_task(pb.GetTaskRequest(id=own.task.id))
        assert reduced([pb.StreamResponse(task=task)]).text() == "You said: hello"
        assert [p.text for m in task.history for p in m.parts] == ["hello"], task.history
        short = await client.get_task(pb.GetTaskRequest(id=own.task.id, history_length=0))
        assert not short.history

    await both(one)


async def blocking():
    client = await connect(streaming=False)
    [event] = await sent(client, "search for it")
    own = reduced([event])
    assert own.state() == "TASK_STATE_COMPLETED" and "Three airlines" in own.text()
    polling = await connect(streaming=False, polling=True)
    [event] = await sent(polling, "hello")
    assert event.task.status.state != pb.TASK_STATE_COMPLETED or event.task.id


async def answers():
    async def one(client, binding):
        own = reduced(await sent(client, "book it"))
        assert own.state() == "TASK_STATE_INPUT_REQUIRED", own.task
        question = own.task.status.message
        assert "Use" in question.parts[0].text, question
        own = reduced(await sent(client, "yes", task_id=own.task.id))
        assert own.state() == "TASK_STATE_COMPLETED", own.task
        assert "What you decided is done." in own.text()
        history = (await client.get_task(pb.GetTaskRequest(id=own.task.id))).history
        assert [m.parts[0].text for m in history if m.role == pb.ROLE_USER] == ["book it", "yes"]
        try:
            await sent(client, "again", task_id=own.task.id)
        except A2AError:
            pass
        else:
            raise AssertionError("a task that is over takes nothing")

    await both(one)


async def artifacts():
    client = await connect()
    own = reduced(await sent(client, "write"))
    names = {artifact.name: artifact for artifact in own.task.artifacts if artifact.name}
    assert set(names) == {"note.md", "choice", "prices"}, names
    assert names["choice"].parts[0].HasField("data")


async def others_speak():
    client = await connect()
    own = reduced(await sent(client, "hello"))
    api(f"/api/threads/{own.task.context_id}/messages", {"content": "from elsewhere"})
    listed = None
    for _ in range(200):
        request = pb.ListTasksRequest(context_id=own.task.context_id, include_artifacts=True)
        listed = (await client.list_tasks(request)).tasks
        if len(listed) == 2 and all(t.status.state == pb.TASK_STATE_COMPLETED for t in listed):
            break
        await asyncio.sleep(0.02)
    assert any("from elsewhere" in str(task.history) for task in listed), listed


async def lists():
    async def one(client, binding):
        context = str(uuid.uuid4())
        for i in range(5):
            await sent(client, f"number {i}", context_id=context)
        seen, token = [], ""
        while True:
            page = await client.list_tasks(
                pb.ListTasksRequest(context_id=context, page_size=2, page_token=token)
            )
            assert page.total_size == 5 and len(page.tasks) <= 2
            assert not any(task.artifacts for task in page.tasks)
            seen += [task.id for task in page.tasks]
            token = page.next_page_token
            if not token:
                break
        assert len(seen) == len(set(seen)) == 5
        done = await client.list_tasks(
            pb.ListTasksRequest(context_id=context, status=pb.TASK_STATE_FAILED)
        )
        assert not done.tasks

    await both(one)


async def cancels():
    async def one(client, binding):
        stream = client.send_message(pb.SendMessageRequest(message=message("ask me")))
        events = [event async for event in stream]
        own = reduced(events)
        task = await client.cancel_task(pb.CancelTaskRequest(id=own.task.id))
        assert task.status.state == pb.TASK_STATE_CANCELED
        try:
            await client.cancel_task(pb.CancelTaskRequest(id=own.task.id))
        except A2AError:
            pass
        else:
            raise AssertionError("canceled once")

    await both(one)


async def follows_through_cuts():
    async def one(binding, cutting):
        client = await connect(binding, agent=cutting.url)
        own = Reduced()
        context = answered_by("slow")
        # The same message again is the same task, should its answer be lost before the task's id.
        said = pb.SendMessageRequest(message=message("go", context_id=context))
        while own.task is None or own.state() not in OVER:
            cuts = cutting.cuts
            if own.task is None:
                stream = client.send_message(said)
            else:
                stream = client.subscribe(pb.SubscribeToTaskRequest(id=own.task.id))
            try:
                async for event in stream:
                    own.take(event)
            except A2AError as error:
                if cutting.cuts > cuts:
                    continue
                # It was over when the client came again.
                assert "is over" in str(error), error
                own.task = await client.get_task(pb.GetTaskRequest(id=own.task.id))
        assert own.state() == "TASK_STATE_COMPLETED", own.task.status
        assert own.text() == " ".join(f"w{i}" for i in range(1, 101)), own.text()
        assert len(api(f"/api/threads/{own.task.context_id}")["tasks"]) == 1, "said once"

    for binding in ["JSONRPC", "HTTP+JSON"]:
        with Cutting(1200) as cutting:
            # Again, if it was over before.
            while cutting.cuts < cutting.most:
                await one(binding, cutting)


async def subscribes_while_it_waits():
    client = await connect()
    own = reduced(await sent(client, "ask me"))
    assert own.state() == "TASK_STATE_INPUT_REQUIRED"
    follower = client.subscribe(pb.SubscribeToTaskRequest(id=own.task.id))
    first = await anext(follower)
    assert first.task.status.state == pb.TASK_STATE_INPUT_REQUIRED
    rest = asyncio.ensure_future(collect(follower))
    await sent(client, "blue", task_id=own.task.id)
    later = reduced([first, *await rest])
    assert later.state() == "TASK_STATE_COMPLETED" and "So be it." in later.text()


async def collect(stream):
    return [event async for event in stream]


async def extension():
    client = await connect()
    context = ClientCallContext(service_parameters={"A2A-Extensions": EVENTS})
    events = await sent(client, "delegate it", context=context)
    kinds, places = [], []
    for event in events:
        body = getattr(event, event.WhichOneof("payload"))
        meta = dict(body.metadata.items())
        if EVENTS in meta:
            kinds.append(meta[EVENTS]["kind"])
        places.append(meta[SEQUENCE]["cursor"])
    assert "tool-start" in kinds or "tool-call" in kinds, kinds
    order = [tuple(map(int, place.split("."))) for place in places]
    assert order == sorted(order) and len(set(order)) == len(order), places
    assert reduced(events).state() == "TASK_STATE_COMPLETED"
    plain = await sent(client, "delegate it")
    assert not any(EVENTS in str(event) for event in plain)


class Hook(BaseHTTPRequestHandler):
    got, refuse = [], 2

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        if Hook.refuse > 0:
            Hook.refuse -= 1
            self.send_response(503)
        else:
            Hook.got.append((dict(self.headers), json.loads(body)))
            self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


async def pushes():
    server = HTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    client = await connect()
    own = reduced(await sent(client, "ask me"))
    config = pb.TaskPushNotificationConfig(
        task_id=own.task.id,
        id="mine",
        url=f"http://127.0.0.1:{server.server_port}/hook",
        token="t0ken",
        authentication=pb.AuthenticationInfo(scheme="Bearer", credentials="secret"),
    )
    made = await client.create_task_push_notification_config(config)
    assert made.id == "mine"
    got = await client.get_task_push_notification_config(
        pb.GetTaskPushNotificationConfigRequest(task_id=own.task.id, id="mine")
    )
    assert got.url == config.url
    listed = await client.list_task_push_notification_configs(
        pb.ListTaskPushNotificationConfigsRequest(task_id=own.task.id)
    )
    assert [c.id for c in listed.configs] == ["mine"]
    await sent(client, "blue", task_id=own.task.id)
    for _ in range(1000):
        if Hook.got and "COMPLETED" in json.dumps(Hook.got[-1][1]):
            break
        await asyncio.sleep(0.02)
    headers = {name.lower(): value for name, value in Hook.got[0][0].items()}
    assert headers["x-a2a-notification-token"] == "t0ken"
    assert headers["authorization"] == "Bearer secret"
    said = [body for _, body in Hook.got]
    states = [b["statusUpdate"]["status"]["state"] for b in said if "statusUpdate" in b]
    assert states[-1] == "TASK_STATE_COMPLETED" and "TASK_STATE_COMPLETED" not in states[:-1]
    words = "".join(
        part.get("text", "") for b in said for part in b.get("artifactUpdate", {}).get("artifact", {}).get("parts", [])
    )
    assert words == "So be it.", words
    delete = pb.DeleteTaskPushNotificationConfigRequest(task_id=own.task.id, id="mine")
    await client.delete_task_push_notification_config(delete)
    listed = await client.list_task_push_notification_configs(
        pb.ListTaskPushNotificationConfigsRequest(task_id=own.task.id)
    )
    assert not listed.configs
    server.shutdown()


async def extended_card():
    async def one(client, binding):
        card = await client.get_extended_agent_card(pb.GetExtendedAgentCardRequest())
        assert any(skill.id == "ask_user" for skill in card.skills), card.skills

    await both(one)


async def refuses():
    client = await connect()
    for request in [
        client.get_task(pb.GetTaskRequest(id="nobody's")),
        client.cancel_task(pb.CancelTaskRequest(id="nobody's")),
        client.list_tasks(pb.ListTasksRequest(page_size=1000)),
    ]:
        try:
            await request
        except A2AError:
            continue
        raise AssertionError("refused in A2A's own words")


check("messages are answered in a stream, and are in every other view", run(streams))
check("messages are answered at once, when the task is done or as it stands", run(blocking))
check("a task that asks goes on with a message to it", run(answers))
check("artifacts of all kinds arrive", run(artifacts))
check("what others say in the thread is in its tasks", run(others_speak))
check("tasks are listed page by page", run(lists))
check("a task is canceled once", run(cancels))
check("a stream that is cut 20 times at any byte is followed without a gap or a double", run(follows_through_cuts))
check("a task that waits is followed until it is over", run(subscribes_while_it_waits))
check("the extension tells tools and places, where it is asked for", run(extension))
check("a webhook is told in order, and again where it did not take it", run(pushes))
check("the extended card has the agent's tools", run(extended_card))
check("bad requests are refused in A2A's own words", run(refuses))
