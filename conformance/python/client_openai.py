"""OpenAI's threads through the `openai` package: `client.beta.threads`, whole, polled and streamed.

    python client_openai.py URL
"""

import asyncio
import json
import time
import warnings

import openai
from openai import AssistantEventHandler, AsyncAssistantEventHandler, AsyncOpenAI, OpenAI
from typing_extensions import override

from client import URL, api, check
from cutting import CUTS, Cutting

warnings.simplefilter("ignore", DeprecationWarning)

client = OpenAI(base_url=f"{URL}/v1", api_key="none", max_retries=0)
threads = client.beta.threads
POLL = 50


def texts(messages):
    return [part.text.value for message in messages for part in message.content if part.type == "text"]


def said(thread, **how):
    """A thread's messages, the first one first."""
    return [m for m in threads.messages.list(thread, order="asc", **how)]


def refused(status, param, run):
    try:
        run()
    except openai.APIStatusError as error:
        assert error.status_code == status, (error.status_code, error.body)
        assert error.body["type"], error.body
        assert error.body["param"] == param, error.body
        return error
    raise AssertionError("it was taken")


def threads_are_made_changed_and_deleted():
    thread = threads.create(
        messages=[{"role": "user", "content": "one", "metadata": {"n": "1"}}, {"role": "assistant", "content": "two"}],
        metadata={"topic": "birds"},
    )
    assert thread.object == "thread" and thread.metadata == {"topic": "birds"}
    messages = said(thread.id)
    assert texts(messages) == ["one", "two"]
    assert [m.role for m in messages] == ["user", "assistant"]
    assert messages[0].metadata == {"n": "1"} and messages[1].run_id is None
    assert threads.update(thread.id, metadata={"topic": "fish"}).metadata == {"topic": "fish"}
    assert threads.retrieve(thread.id).metadata == {"topic": "fish"}
    listed = client.get("/threads", cast_to=object)
    assert listed["data"][0]["id"] == thread.id
    assert threads.delete(thread.id).deleted
    refused(404, None, lambda: threads.retrieve(thread.id))


def messages_are_added_found_and_labelled():
    thread = threads.create().id
    text = threads.messages.create(thread, role="user", content="hello", metadata={"a": "b"})
    assert texts([text]) == ["hello"] and text.metadata == {"a": "b"} and text.status == "completed"
    parts = threads.messages.create(thread, role="user", content=[
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": "https://example.com/cat.png"}},
    ])
    assert [part.type for part in parts.content] == ["text", "image_url"]
    assert threads.messages.retrieve(text.id, thread_id=thread) == text
    changed = threads.messages.update(text.id, thread_id=thread, metadata={"a": "c"})
    assert changed.metadata == {"a": "c"}
    assert threads.messages.retrieve(text.id, thread_id=thread).metadata == {"a": "c"}
    refused(400, "message_id", lambda: threads.messages.delete(text.id, thread_id=thread))
    api(f"/api/threads/{thread}/events", {"kind": "message", "role": "user", "messageId": "m-other", "content": "from elsewhere"})
    assert threads.messages.retrieve("m-other", thread_id=thread).content[0].text.value == "from elsewhere"
    state = api(f"/api/threads/{thread}")
    assert any(m.get("messageId") == text.id for m in state["messages"]), state["messages"]


def pages_lose_nothing():
    thread = threads.create(messages=[{"role": "user", "content": str(n)} for n in range(45)]).id
    for order, wanted in (("asc", range(45)), ("desc", range(44, -1, -1))):
        # All of one append, in the same second: only their ids tell them apart.
        for limit in (1, 7, 20, 100):
            pages = [m for m in threads.messages.list(thread, order=order, limit=limit)]
            assert texts(pages) == [str(n) for n in wanted], (order, limit)
    first = threads.messages.list(thread, order="asc", limit=10)
    middle = first.data[5].id
    before = threads.messages.list(thread, order="asc", limit=3, before=middle)
    assert texts(before.data) == ["2", "3", "4"]
    refused(400, "after", lambda: threads.messages.list(thread, after="msg_nobody"))
    refused(400, "limit", lambda: threads.messages.list(thread, limit=101))
    refused(400, "order", lambda: threads.messages.list(thread, order="upward"))


def runs_are_polled():
    thread = threads.create(messages=[{"role": "user", "content": "hello"}]).id
    made = threads.runs.create(thread, assistant_id="assistant", metadata={"who": "me"})
    assert made.status == "queued" and made.object == "thread.run", made
    run = threads.runs.poll(made.id, thread_id=thread, poll_interval_ms=POLL)
    assert run.status == "completed" and run.assistant_id == "assistant", run
    assert run.metadata == {"who": "me"} and run.usage.total_tokens > 0
    assert run.completed_at and run.thread_id == thread
    messages = said(thread)
    assert texts(messages) == ["hello", "You said: hello"]
    assert messages[1].run_id == run.id and messages[1].assistant_id == "assistant"
    assert said(thread, run_id=run.id) == messages[1:]
    steps = threads.runs.steps.list(run.id, thread_id=thread, order="asc").data
    assert [step.type for step in steps] == ["message_creation"]
    assert steps[0].step_details.message_creation.message_id == messages[1].id
    assert threads.runs.steps.retrieve(steps[0].id, thread_id=thread, run_id=run.id) == steps[0]
    again = threads.runs.create_and_poll(
        thread_id=thread, assistant_id="assistant", poll_interval_ms=POLL,
        additional_messages=[{"role": "user", "content": "search"}],
    )
    assert again.status == "completed"
    kinds = [step.type for step in threads.runs.steps.list(again.id, thread_id=thread, order="asc")]
    assert kinds == ["message_creation", "tool_calls", "message_creation"], kinds
    calls = threads.runs.steps.list(again.id, thread_id=thread, order="asc").data[1].step_details.tool_calls
    assert calls[0].function.name == "flights__search_flights" and calls[0].function.output
    assert [r.id for r in threads.runs.list(thread)] == [again.id, run.id]
    refused(400, None, lambda: threads.runs.update(run.id, thread_id=thread, metadata={"x": "y"}))


def a_run_of_another_client_is_a_run_here():
    thread = threads.create().id
    (task,) = api(f"/api/threads/{thread}/messages", {"content": "hello there", "to": "assistant"})["tasks"]
    assert "/" in task["taskId"], "an id that has to survive URLs"
    run = threads.runs.poll(task["taskId"], thread_id=thread, poll_interval_ms=POLL)
    assert run.status == "completed" and run.id == task["taskId"]
    assert threads.runs.steps.list(run.id, thread_id=thread).data[0].run_id == run.id
    assert texts(said(thread)) == ["hello there", "You said: hello there"]


class Handler(AssistantEventHandler):
    """Notes what the helper tells."""

    def __init__(self):
        super().__init__()
        self.events, self.deltas, self.calls, self.done = [], [], [], []

    @override
    def on_event(self, event):
        self.events.append(event.event)

    @override
    def on_text_delta(self, delta, snapshot):
        self.deltas.append(delta.value)

    @override
    def on_tool_call_done(self, tool_call):
        self.calls.append(tool_call)

    @override
    def on_message_done(self, message):
        self.done.append(message)


def runs_are_streamed():
    thread = threads.create(messages=[{"role": "user", "content": "search"}]).id
    with threads.runs.stream(thread_id=thread, assistant_id="assistant", event_handler=Handler()) as stream:
        run = stream.get_final_run()
        assert run.status == "completed", run
        assert stream.get_final_run_steps()
        assert stream.events[:3] == ["thread.run.created", "thread.run.queued", "thread.run.in_progress"], stream.events
        assert stream.events[-1] == "thread.run.completed"
        assert "thread.created" not in stream.events
        assert "".join(stream.deltas) == "I look for flights.Three airlines fly on Friday."
        assert stream.calls[0].function.name == "flights__search_flights"
        # What was streamed is what can be asked for.
        assert stream.done == said(thread, run_id=run.id)
        assert threads.runs.retrieve(run.id, thread_id=thread) == run
        assert {s.id for s in stream.get_final_run_steps()} == {s.id for s in threads.runs.steps.list(run.id, thread_id=thread)}
    raw = threads.runs.create(thread, assistant_id="assistant", stream=True,
                              additional_messages=[{"role": "user", "content": "bye"}])
    names = [event.event for event in raw]
    assert names[0] == "thread.run.created" and names[-1] == "thread.run.completed", names


def a_thread_is_made_with_its_run():
    asked = {"messages": [{"role": "user", "content": "hi"}], "metadata": {"k": "v"}}
    run = threads.create_and_run_poll(assistant_id="assistant", thread=asked, poll_interval_ms=POLL)
    assert run.status == "completed" and texts(said(run.thread_id)) == ["hi", "You said: hi"]
    assert threads.retrieve(run.thread_id).metadata == {"k": "v"}
    with threads.create_and_run_stream(assistant_id="assistant", thread=asked, event_handler=Handler()) as stream:
        run = stream.get_final_run()
        assert stream.events[0] == "thread.created" and run.status == "completed"
        assert "".join(stream.deltas) == "You said: hi"


def a_tool_that_a_run_brings_is_run_by_the_client():
    thread = threads.create(messages=[{"role": "user", "content": "forecast"}]).id
    weather = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}
    run = threads.runs.create_and_poll(
        thread_id=thread, assistant_id="assistant", poll_interval_ms=POLL,
        tools=[weather, {"type": "code_interpreter"}], temperature=0.1, max_completion_tokens=99)
    assert run.status == "requires_action", run.status
    (call,) = run.required_action.submit_tool_outputs.tool_calls
    assert call.function.name == "weather", call
    run = threads.runs.submit_tool_outputs_and_poll(
        run_id=run.id, thread_id=thread, poll_interval_ms=POLL,
        tool_outputs=[{"tool_call_id": call.id, "output": "wet"}])
    assert run.status == "completed" and texts(said(thread))[-1] == "So is the weather.", run
    named = {"type": "function", "function": {"name": "a b"}}
    refused(400, "tools[0]", lambda: threads.runs.create(thread, assistant_id="assistant", tools=[named]))


def a_tool_of_the_client_is_run_by_the_client():
    thread = threads.create(messages=[{"role": "user", "content": "where am I"}]).id
    run = threads.runs.create_and_poll(thread_id=thread, assistant_id="assistant", poll_interval_ms=POLL)
    assert run.status == "requires_action", run.status
    (call,) = run.required_action.submit_tool_outputs.tool_calls
    assert call.function.name == "locate" and call.function.arguments == '{"precision":"city"}'
    refused(400, "tool_outputs[0].tool_call_id", lambda: threads.runs.submit_tool_outputs(
        run.id, thread_id=thread, tool_outputs=[{"tool_call_id": "call-nobody", "output": "x"}]))
    outputs = [{"tool_call_id": call.id, "output": "Lisbon"}]
    run = threads.runs.submit_tool_outputs(run.id, thread_id=thread, tool_outputs=outputs)
    assert run.status in ("queued", "in_progress", "completed"), run.status
    run = threads.runs.poll(run.id, thread_id=thread, poll_interval_ms=POLL)
    assert run.status == "completed", run
    assert texts(said(thread))[-1] == "Now I know where you are."
    step = threads.runs.steps.list(run.id, thread_id=thread, order="asc").data[1]
    assert [c.function.output for c in step.step_details.tool_calls] == ["Lisbon"], step
    refused(400, "tool_outputs[0].tool_call_id",
            lambda: threads.runs.submit_tool_outputs(run.id, thread_id=thread, tool_outputs=outputs))

    # The same as streams.
    threads.messages.create(thread, role="user", content="where now")
    with threads.runs.stream(thread_id=thread, assistant_id="assistant", event_handler=Handler()) as stream:
        run = stream.get_final_run()
    assert run.status == "requires_action" and stream.events[-1] == "thread.run.requires_action"
    (call,) = run.required_action.submit_tool_outputs.tool_calls
    with threads.runs.submit_tool_outputs_stream(
        run_id=run.id, thread_id=thread, event_handler=Handler(),
        tool_outputs=[{"tool_call_id": call.id, "output": '{"city": "Oslo"}'}],
    ) as stream:
        run = stream.get_final_run()
        assert run.status == "completed", run
        assert "".join(stream.deltas) == "Now I know where you are."
        assert "thread.run.created" not in stream.events, stream.events


def approvals_are_calls_whose_output_answers():
    for answer, outcome in (("yes", True), ('{"approved": false, "reason": "too dear"}', False)):
        thread = threads.create(messages=[{"role": "user", "content": "book it"}]).id
        run = threads.runs.create_and_poll(thread_id=thread, assistant_id="assistant", poll_interval_ms=POLL)
        (call,) = run.required_action.submit_tool_outputs.tool_calls
        assert call.function.name == "request_input" and "KA101" in call.function.arguments, call
        refused(400, "tool_outputs[0].output", lambda: threads.runs.submit_tool_outputs(
            run.id, thread_id=thread, tool_outputs=[{"tool_call_id": call.id, "output": "perhaps"}]))
        run = threads.runs.submit_tool_outputs_and_poll(
            run_id=run.id, thread_id=thread, poll_interval_ms=POLL,
            tool_outputs=[{"tool_call_id": call.id, "output": answer}])
        assert run.status == "completed", run
        entries = api(f"/api/threads/{thread}/events?limit=1000")["entries"]
        (done,) = [e["event"] for e in entries if e["event"]["kind"] == "tool-complete"]
        assert done["success"] is outcome, done
    # Whoever answers elsewhere lets the run go on here.
    thread = threads.create(messages=[{"role": "user", "content": "ask me"}]).id
    run = threads.runs.create_and_poll(thread_id=thread, assistant_id="assistant", poll_interval_ms=POLL)
    assert run.status == "requires_action"
    (question,) = api(f"/api/threads/{thread}/inputs")["items"]
    from urllib.parse import quote
    api(f"/api/threads/{thread}/inputs/{quote(question['id'], safe='')}", {"value": "blue"})
    assert threads.runs.poll(run.id, thread_id=thread, poll_interval_ms=POLL).status == "completed"


def runs_are_cancelled_and_fail():
    thread = threads.create(messages=[{"role": "user", "content": "go"}]).id
    stream = threads.runs.create(thread, assistant_id="slow", stream=True)
    names = []
    for event in stream:
        names.append(event.event)
        if event.event == "thread.message.delta" and names.count(event.event) == 3:
            cancelled = threads.runs.cancel(run, thread_id=thread)
            assert cancelled.status in ("cancelling", "cancelled"), cancelled
        if event.event == "thread.run.created":
            run = event.data.id
    assert names[-2:] != ["thread.run.completed"] and names[-1] == "thread.run.cancelled", names[-3:]
    assert "thread.run.cancelling" in names and "thread.message.incomplete" in names
    assert threads.runs.retrieve(run, thread_id=thread).status == "cancelled"
    assert said(thread)[-1].status == "incomplete"
    refused(400, None, lambda: threads.runs.cancel(run, thread_id=thread))
    thread = threads.create(messages=[{"role": "user", "content": "fail"}]).id
    run = threads.runs.create_and_poll(thread_id=thread, assistant_id="assistant", poll_interval_ms=POLL)
    assert run.status == "failed" and run.last_error.code == "server_error", run


def agents_are_assistants():
    listed = client.beta.assistants.list(limit=2, order="asc")
    assert [a.id for a in listed] == sorted(a["id"] for a in api("/api/agents")["agents"])
    own = client.beta.assistants.retrieve("assistant")
    assert own.object == "assistant" and any(t.function.name == "locate" for t in own.tools)
    refused(404, None, lambda: client.beta.assistants.retrieve("nobody"))


def files_are_kept():
    for body in (b"plain text\n", bytes(range(256)) * 2000):
        made = client.files.create(file=("notes.bin", body), purpose="assistants")
        assert made.bytes == len(body) and made.filename == "notes.bin", made
        assert client.files.content(made.id).read() == body
        assert client.files.retrieve(made.id) == made
    assert [f.id for f in client.files.list(limit=1)][0] == made.id
    thread = threads.create().id
    message = threads.messages.create(thread, role="user", content="see file",
                                      attachments=[{"file_id": made.id, "tools": [{"type": "file_search"}]}])
    assert message.attachments[0].file_id == made.id
    assert made.id not in [t["id"] for t in client.get("/threads", cast_to=object)["data"]]
    assert client.files.delete(made.id).deleted
    refused(404, None, lambda: client.files.retrieve(made.id))
    refused(400, "file_id", lambda: client.files.delete(thread))


def threads_are_forked_and_have_subthreads():
    thread = threads.create(messages=[{"role": "user", "content": "one"}, {"role": "user", "content": "two"}]).id
    fork = client.post(f"/threads/{thread}/fork", cast_to=object)
    assert fork["metadata"]["parent_id"] == thread and texts(said(fork["id"])) == ["one", "two"]
    threads.messages.create(fork["id"], role="user", content="here only")
    assert texts(said(thread)) == ["one", "two"]
    first = said(thread)[0].id
    body = {"messages_to_copy": [first], "new_messages": [{"role": "user", "content": "new"}]}
    sub = client.post(f"/threads/{thread}/subthread", body=body, cast_to=object)
    assert sub["metadata"]["parent_id"] == thread and texts(said(sub["id"])) == ["one", "new"]
    listed = client.get("/threads?include_subthreads=false&limit=100", cast_to=object)["data"]
    assert thread in [t["id"] for t in listed] and sub["id"] not in [t["id"] for t in listed]


def what_is_wrong_is_told_in_openais_words():
    thread = threads.create().id
    refused(400, "role", lambda: threads.messages.create(thread, role="wizard", content="x"))
    refused(400, "content", lambda: threads.messages.create(thread, role="user", content=7))
    refused(400, "content[0].type", lambda: threads.messages.create(thread, role="user", content=[{"type": "smell"}]))
    refused(400, "messages[1].content", lambda: threads.create(messages=[{"role": "user", "content": "x"}, {"role": "user"}]))
    refused(400, "metadata.k", lambda: threads.create(metadata={"k": "v" * 513}))
    refused(404, "assistant_id", lambda: threads.runs.create(thread, assistant_id="nobody"))
    refused(404, None, lambda: threads.runs.retrieve("run_nobody", thread_id=thread))
    refused(404, None, lambda: threads.messages.list("thread_nobody"))
    assert said(thread) == [], "nothing of it was kept"


async def asynchronous_clients_do_the_same():
    class Async(AsyncAssistantEventHandler):
        text = ""

        @override
        async def on_text_delta(self, delta, snapshot):
            self.text += delta.value

    async with AsyncOpenAI(base_url=f"{URL}/v1", api_key="none") as client:
        threads = client.beta.threads

        async def one(n):
            thread = await threads.create(messages=[{"role": "user", "content": f"hello {n}"}])
            async with threads.runs.stream(thread_id=thread.id, assistant_id="assistant", event_handler=Async()) as stream:
                await stream.until_done()
            assert stream.text == f"You said: hello {n}", stream.text
            run = await threads.runs.create_and_poll(thread_id=thread.id, assistant_id="assistant", poll_interval_ms=POLL)
            assert run.status == "completed"
            return [m async for m in threads.messages.list(thread.id)]

        assert [len(all) for all in await asyncio.gather(*map(one, range(8)))] == [3] * 8


def runs_that_were_cut_off_are_rejoined():
    """By polling, which is all that the API had, and by the stream of a run, from where it was cut."""
    whole = " ".join(f"w{n}" for n in range(1, 101))
    with Cutting(9000) as cutting:
        lossy = OpenAI(base_url=f"{cutting.url}/v1", api_key="none", max_retries=0)
        for n in range(CUTS):
            thread = threads.create(messages=[{"role": "user", "content": "go"}]).id
            heard, run, last = "", None, None
            try:
                for sse in lossy.beta.threads.runs.create(thread, assistant_id="slow", stream=True)._iter_events():
                    if sse.event == "thread.run.created":
                        run = sse.json()["id"]
                    if sse.event == "thread.message.delta":
                        heard += sse.json()["delta"]["content"][0]["text"]["value"]
                    last = sse.id
                raise AssertionError("not cut")
            except openai.APIConnectionError:
                # Lost before it had a name, it is the only one in its thread.
                run = run or threads.runs.list(thread).data[0].id
            if n % 4 == 0:
                done = threads.runs.poll(run, thread_id=thread, poll_interval_ms=POLL)
                assert done.status == "completed"
            else:
                headers = {"Last-Event-ID": last} if last else {}
                raw = client.get(f"/threads/{thread}/stream/{run}", cast_to=object, stream=True,
                                 stream_cls=openai.Stream[object], options={"headers": headers})
                for sse in raw._iter_events():
                    if sse.event == "thread.message.delta":
                        heard += sse.json()["delta"]["content"][0]["text"]["value"]
                assert sse.data == "[DONE]" and heard == whole, heard
            assert texts(said(thread)) == ["go", whole]


DECISIONS = "https://aitp.dev/capabilities/aitp-02-decisions/v1.0.0/schema.json"


def wait_for(thread, enough):
    """A thread's messages, once there are enough."""
    for _ in range(1000):
        messages = said(thread)
        if enough(messages):
            return messages
        time.sleep(0.02)
    raise AssertionError(texts(messages))


def aitp_has_threads_and_messages_alone():
    """AITP-T01 has no runs: agents answer what is said in a thread with actors."""
    def made(words, capabilities):
        actors = [{"id": "user.near", "client_id": "c", "capabilities": capabilities}, {"id": "assistant", "capabilities": []}]
        return client.post("/thread", body={"messages": [words], "metadata": {"actors": actors}}, cast_to=object)["id"]

    thread = made("hello", [])
    assert texts(wait_for(thread, lambda all: len(all) == 2 and all[1].status == "completed")) == ["hello", "You said: hello"]
    client.post(f"/threads/{thread}/messages", body={"role": "user", "content": ["again"], "attachments": None}, cast_to=object)
    wait_for(thread, lambda all: texts(all)[-1] == "You said: again")
    document = client.post(f"/threads/{thread}", cast_to=object)
    assert [m["content"] for m in document["messages"]] == [["hello"], ["You said: hello"], ["again"], ["You said: again"]]
    assert document["metadata"]["actors"][0]["id"] == "user.near"
    # A question is a capability message for who declared it, and in words for who did not.
    for able in ([DECISIONS], []):
        thread = made("book it", able)
        question = wait_for(thread, lambda all: len(all) == 3)[-1]
        text = question.content[0].text.value
        assert text.startswith("{") == bool(able), text
        if able:
            asked = json.loads(text)["request_decision"]
            answer = {"$schema": DECISIONS, "decision": {"request_decision_id": asked["id"], "options": [{"id": "yes"}]}}
            answer = json.dumps(answer)
        else:
            answer = "yes"
        threads.messages.create(thread, role="user", content=answer)
        done = wait_for(thread, lambda all: texts(all)[-1] == "What you decided is done.")
        assert texts(done)[-2] == answer, texts(done)
        entries = api(f"/api/threads/{thread}/events?limit=1000")["entries"]
        assert any(e["event"].get("success") for e in entries if e["event"]["kind"] == "tool-complete"), entries


check("threads are made, listed, changed and deleted", threads_are_made_changed_and_deleted)
check("messages are added, found and labelled, here and elsewhere", messages_are_added_found_and_labelled)
check("pages lose nothing of the same second, in any order and size", pages_lose_nothing)
check("runs are polled, with messages and steps", runs_are_polled)
check("a run of another client is a run here, with a slash in its id", a_run_of_another_client_is_a_run_here)
check("runs are streamed, and what is streamed can be asked for", runs_are_streamed)
check("a thread is made with its run", a_thread_is_made_with_its_run)
check("a tool that a run brings is run by the client", a_tool_that_a_run_brings_is_run_by_the_client)
check("tools of the client are run by the client", a_tool_of_the_client_is_run_by_the_client)
check("approvals and questions are calls whose output answers", approvals_are_calls_whose_output_answers)
check("runs are cancelled in the middle, and fail", runs_are_cancelled_and_fail)
check("agents are assistants", agents_are_assistants)
check("files are uploaded, attached, read and deleted", files_are_kept)
check("threads are forked and have subthreads", threads_are_forked_and_have_subthreads)
check("AITP's threads are answered, with the capabilities that are declared", aitp_has_threads_and_messages_alone)
check("what is wrong is told in OpenAI's words", what_is_wrong_is_told_in_openais_words)
check("asynchronous clients do the same", lambda: asyncio.run(asynchronous_clients_do_the_same()))
check("runs that were cut off at 20 random bytes are rejoined", runs_that_were_cut_off_are_rejoined)
