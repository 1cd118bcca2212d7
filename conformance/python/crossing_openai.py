"""One conversation, driven by others at the same time: the part of `openai` and of AgentScope.

    python crossing_openai.py URL drive|view THREAD
"""

import json
import sys
import threading
import warnings

from openai import OpenAI

from client import URL
from peer_agent_api import client as agentscope

warnings.simplefilter("ignore", DeprecationWarning)
_, _, phase, thread = sys.argv
threads = OpenAI(base_url=f"{URL}/v1", api_key="none", max_retries=0).beta.threads


def booked():
    """A tool that needs consent, which is given here."""
    # In one request: between two, someone else may speak.
    run = threads.runs.create_and_poll(
        thread_id=thread, assistant_id="assistant", poll_interval_ms=50,
        additional_messages=[{"role": "user", "content": "book it"}])
    assert run.status == "requires_action", run
    (call,) = run.required_action.submit_tool_outputs.tool_calls
    run = threads.runs.submit_tool_outputs_and_poll(
        run_id=run.id, thread_id=thread, poll_interval_ms=50,
        tool_outputs=[{"tool_call_id": call.id, "output": "yes"}])
    assert run.status == "completed", run


def greeted():
    """A turn through the Agent API; what its own client makes of it."""
    agent = agentscope.HTTPAgentAPIClient(URL + "/process")
    asked = agentscope.create_simple_text_request("hello from AgentScope", session_id=thread)
    # With a name of its own, the same request is the same turn.
    asked.input[-1].id = "agentscope-1"
    response = list(agent.stream(asked))[-1]
    assert response.status == "completed", response
    texts = [c.text for m in response.output if m.type == "message" for c in m.content if c.type == "text"]
    assert texts == ["You said: hello from AgentScope"], texts


def at_once(*works):
    failed = []

    def guarded(work):
        try:
            work()
        except BaseException as error:
            failed.append(error)

    running = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for one in running:
        one.start()
    for one in running:
        one.join()
    if failed:
        raise failed[0]


if phase == "drive":
    at_once(booked, greeted)
    print("openai and AgentScope are done")
else:
    greeted()
    story = {"user": [], "assistant": [], "tools": [], "canceled": 0}
    for run in threads.runs.list(thread):
        story["canceled"] += run.status == "cancelled"
        for step in threads.runs.steps.list(run.id, thread_id=thread):
            if step.type == "tool_calls":
                names = [call.function.name for call in step.step_details.tool_calls]
                # What a question is called here is no tool of the agent's.
                story["tools"].extend(name for name in names if name != "request_input")
    for message in threads.messages.list(thread, order="asc"):
        story[message.role].extend(part.text.value for part in message.content if part.type == "text")
    print(json.dumps(story))
