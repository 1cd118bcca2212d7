"""agentscope-runtime's own client against `/process`: turns, tools, answers, the queue, cuts."""

import asyncio
import json
import urllib.error
import urllib.request

import requests

from client import URL, api, check
from cutting import CUTS, Cutting
from peer_agent_api import client, schemas

SLOW = " ".join(f"w{i}" for i in range(1, 101))


def agent(**options):
    return client.HTTPAgentAPIClient(URL + "/process", **options)


def request(text, session=None, **more):
    return client.create_simple_text_request(text, session_id=session, **more)


def turn(asked):
    """All events of a turn, and the response it ends with."""
    events = list(agent().stream(asked))
    assert events[0].object == "response" and events[0].status == "created", events[0]
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert events[-1].object == "response", events[-1]
    return events, events[-1]


def said(response):
    """The text of a response's last message."""
    texts = [c.text for m in response.output or [] if m.type == "message" for c in m.content if c.type == "text"]
    return texts[-1]


def message(kind, data, role="user"):
    content = [schemas.DataContent(type="data", data=data)]
    return schemas.Message(type=kind, role=role, content=content)


def post(path, body, **headers):
    """A request that the client has no method for; gives the status and the answer."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    asked = urllib.request.Request(URL + path, data=data, headers=headers)
    try:
        with urllib.request.urlopen(asked, timeout=60) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def a_turn_is_streamed():
    events, response = turn(request("hello", "aa-1"))
    deltas = [e.text for e in events if e.object == "content" and e.delta]
    assert "".join(deltas) == "You said: hello", deltas
    assert (response.status, said(response)) == ("completed", "You said: hello")
    assert response.session_id == "aa-1"
    assert client.extract_text_from_event(events[-2]) == "You said: hello"


def the_session_goes_on_and_is_a_thread():
    turn(request("again", "aa-1"))
    state = api("/api/threads/aa-1")
    assert [task["status"] for task in state["tasks"]] == ["completed", "completed"]
    # What another surface says is in the thread, and the next turn comes after it.
    api("/api/threads/aa-1/messages", {"content": "from others"})
    _, response = turn(request("third", "aa-1"))
    assert said(response) == "You said: third"
    log = api("/api/threads/aa-1/events?limit=1000&kinds=message")["entries"]
    told = [entry["event"]["content"] for entry in log]
    assert told == ["hello", "again", "from others", "third"], told
    assert response.id == api("/api/threads/aa-1")["tasks"][-1]["id"]


def a_session_is_made_where_none_is_named():
    _, response = turn(request("hello"))
    assert api(f"/api/threads/{response.session_id}")["tasks"][0]["status"] == "completed"


async def streamed():
    events = [event async for event in agent().astream(request("async", "aa-async"))]
    assert said(events[-1]) == "You said: async"


def the_whole_response_without_a_stream():
    asked = request("whole", "aa-2", stream=False).model_dump(exclude_none=True)
    status, answer = post("/process", asked)
    response = schemas.AgentResponse(**answer)
    assert (status, response.status, said(response)) == (200, "completed", "You said: whole")


def tools_that_run_here_are_told():
    events, response = turn(request("search a flight", "aa-3"))
    kinds = [m.type for m in response.output]
    assert "reasoning" in kinds and "plugin_call" in kinds and "plugin_call_output" in kinds, kinds
    assert said(response) == "Three airlines fly on Friday."
    call = next(m for m in response.output if m.type == "plugin_call").content[0].data
    assert json.loads(call["arguments"])["to"] == "Lisbon"


def consent_is_asked_and_given():
    _, response = turn(request("book it", "aa-4"))
    assert response.status == "incomplete", response.status
    asked = next(m for m in response.output if m.type == "mcp_approval_request").content[0].data
    assert asked["name"] == "booking__book_flight", asked
    answer = message("mcp_approval_response", {"approval_request_id": asked["id"], "approve": True})
    _, rest = turn(schemas.AgentRequest(input=[answer], session_id="aa-4"))
    assert (rest.status, rest.id) == ("completed", response.id)
    assert said(rest) == "What you decided is done."
    # The same answer again is too late, and says where.
    status, late = post("/process", {"session_id": "aa-4", "input": [answer.model_dump(exclude_none=True)]})
    assert status == 409, late


def a_clients_own_tool_is_called():
    tool = {"name": "weather", "description": "Tells the weather.", "parameters": {"type": "object", "properties": {}}}
    tools = [schemas.Tool(type="function", function=schemas.FunctionTool(**tool))]
    _, response = turn(request("forecast", "aa-5", tools=tools, temperature=0.1, max_tokens=99, n=1, seed=3, stop=["x"]))
    assert response.status == "incomplete", response
    call = next(m for m in response.output if m.type == "plugin_call").content[0].data
    assert call["name"] == "weather", call
    output = message("function_call_output", {"call_id": call["call_id"], "output": '{"sky": "blue"}'}, role="tool")
    _, rest = turn(schemas.AgentRequest(input=[output], session_id="aa-5"))
    returned = next(m for m in rest.output if m.type == "plugin_call_output").content[0].data
    assert json.loads(returned["output"]) == {"sky": "blue"}
    assert said(rest) == "So is the weather."
    log = api("/api/threads/aa-5/events?limit=1000&kinds=message")["entries"]
    wishes = log[0]["event"]["metadata"]["request"]
    assert (wishes["temperature"], wishes["max_tokens"], wishes["seed"]) == (0.1, 99, 3), wishes


def contents_of_every_kind_arrive():
    contents = [
        schemas.TextContent(type="text", text="look"),
        schemas.ImageContent(type="image", image_url="https://example.org/a.png"),
        schemas.DataContent(type="data", data={"city": "Oslo"}),
        schemas.FileContent(type="file", file_url="https://example.org/a.pdf", filename="a.pdf"),
    ]
    said_by = schemas.Message(role="user", type="message", content=contents)
    _, response = turn(schemas.AgentRequest(input=[said_by], session_id="aa-6"))
    assert response.status == "completed"
    log = api("/api/threads/aa-6/events?limit=1000&kinds=message")["entries"]
    assert log[0]["event"]["messageId"] == said_by.id
    assert log[0]["event"]["content"] == [
        {"type": "text", "text": "look"},
        {"type": "image", "image_url": "https://example.org/a.png"},
        {"type": "data", "data": {"city": "Oslo"}},
        {"type": "file", "url": "https://example.org/a.pdf", "name": "a.pdf"},
    ], log[0]


def what_was_said_elsewhere_comes_along():
    text = lambda role, words: schemas.Message(role=role, type="message", content=[schemas.TextContent(type="text", text=words)])
    call = message("function_call", {"call_id": "c1", "name": "f", "arguments": "{}"}, role="assistant")
    output = message("function_call_output", {"call_id": "c1", "output": "7"}, role="tool")
    asked = [text("user", "one"), text("assistant", "two"), call, output, text("user", "three")]
    _, response = turn(schemas.AgentRequest(input=asked, session_id="aa-7"))
    assert said(response) == "You said: three"
    actions = api("/api/threads/aa-7/export?dialect=thread-protocol")["actions"]
    kinds = [action["action_type"] for action in actions if not action["action_type"].startswith("system")]
    told = ["user_message", "assistant_message", "tool_call", "tool_return", "user_message", "assistant_message"]
    assert kinds == told, kinds
    seen = api("/api/threads/aa-7/export?dialect=pydantic-ai&agent=assistant")
    parts = [part["part_kind"] for message in seen for part in message["parts"]]
    assert parts == ["user-prompt", "text", "tool-call", "tool-return", "user-prompt", "text"], parts


def artifacts_and_failures_are_told():
    _, response = turn(request("write it", "aa-8"))
    data = [c.data for m in response.output for c in m.content or [] if c.type == "data"]
    assert {"city": "Lisbon"} in data, data
    _, response = turn(request("fail", "aa-8"))
    assert response.status == "failed" and response.error.message, response
    _, response = turn(request("delegate", "aa-8"))
    agents = {(m.metadata or {}).get("agent_id") for m in response.output}
    assert agents >= {"assistant", "helper"}, agents


def the_queue_keeps_turns():
    status, task = post("/process/task", request("queued", "aa-9").model_dump(exclude_none=True))
    assert (status, task["status"]) == (200, "submitted"), task
    while (state := api(f"/process/task/{task['task_id']}"))["status"] in ("pending", "running"):
        pass
    assert state["status"] == "finished"
    assert said(schemas.AgentResponse(**state["result"])) == "You said: queued"
    _, task = post("/process/task", request("fail", "aa-9").model_dump(exclude_none=True))
    while (state := api(f"/process/task/{task['task_id']}"))["status"] in ("pending", "running"):
        pass
    assert state["status"] == "error" and state["result"], state


def bad_bodies_are_refused():
    for body, place in [
        (b"{", ["body"]),
        ({}, ["body", "input"]),
        ({"input": "x"}, ["body", "input"]),
        ({"input": []}, ["body", "input"]),
        ({"input": [{"role": "user", "content": "x"}]}, ["body", "input", 0, "content"]),
        ({"input": [{"role": "nobody", "content": []}]}, ["body", "input", 0, "role"]),
        ({"input": [{"role": "user"}], "n": 9}, ["body", "n"]),
        ({"input": [{"role": "user"}], "temperature": "hot"}, ["body", "temperature"]),
        ({"input": [{"role": "user"}], "tools": [{"function": {"name": "a b", "description": "", "parameters": {}}}]}, ["body", "tools", 0]),
        ({"input": [{"role": "user"}], "session_id": ""}, ["body", "session_id"]),
    ]:
        status, answer = post("/process", body)
        assert status == 422, (body, status, answer)
        assert answer["detail"][0]["loc"] == place, (body, answer)
        assert answer["detail"][0]["msg"] and answer["detail"][0]["type"]
    try:
        list(agent().stream(schemas.AgentRequest(input=[])))
        raise AssertionError("an empty request is no request")
    except Exception as error:
        assert "422" in str(error), error
    assert post("/shutdown", {})[0] == 404 and post("/admin/shutdown", {})[0] == 404


def cut_off_twenty_times():
    """The client has no means but to ask again: the same request is the same turn."""
    with Cutting(12_000) as cutting:
        for round in range(CUTS):
            asked = request("go", f"aa-cut-{round}", model="slow")
            before = []
            try:
                for event in client.HTTPAgentAPIClient(cutting.url + "/process").stream(asked):
                    before.append(event)
                raise AssertionError(f"not cut after {len(before)} events")
            except requests.RequestException:
                pass
            events, response = turn(asked)
            assert [e.model_dump() for e in events[: len(before)]] == [e.model_dump() for e in before]
            assert "".join(e.text for e in events if e.object == "content" and e.delta) == SLOW
            assert len(api(f"/api/threads/aa-cut-{round}")["tasks"]) == 1
            assert said(response) == SLOW


check("a turn is streamed", a_turn_is_streamed)
check("the session goes on, and is a thread", the_session_goes_on_and_is_a_thread)
check("a session is made where none is named", a_session_is_made_where_none_is_named)
check("a turn is streamed asynchronously", lambda: asyncio.run(streamed()))
check("the whole response without a stream", the_whole_response_without_a_stream)
check("tools that run here are told", tools_that_run_here_are_told)
check("consent is asked and given", consent_is_asked_and_given)
check("a client's own tool is called", a_clients_own_tool_is_called)
check("contents of every kind arrive", contents_of_every_kind_arrive)
check("what was said elsewhere comes along", what_was_said_elsewhere_comes_along)
check("artifacts and failures are told", artifacts_and_failures_are_told)
check("the queue keeps turns", the_queue_keeps_turns)
check("bad bodies are refused", bad_bodies_are_refused)
check("cut off twenty times, at any byte", cut_off_twenty_times)
