"""openai: threads, messages, runs, run steps and the Assistants stream events.

The client itself builds its models without validation, so the models are
validated here: every required field and every enum counts.
"""

from openai.types.beta import AssistantStreamEvent, Thread
from openai.types.beta.threads import Message, MessageDeltaEvent, Run
from openai.types.beta.threads.runs import RunStep, RunStepDeltaEvent
from pydantic import TypeAdapter

import records

STREAM_EVENT = TypeAdapter(AssistantStreamEvent)
OBJECTS = {
    "thread": TypeAdapter(Thread),
    "thread.message": TypeAdapter(Message),
    "thread.message.delta": TypeAdapter(MessageDeltaEvent),
    "thread.run": TypeAdapter(Run),
    "thread.run.step": TypeAdapter(RunStep),
    "thread.run.step.delta": TypeAdapter(RunStepDeltaEvent),
}
# Where a document that holds a whole thread keeps its objects.
NESTED = ("messages", "runs", "steps", "run_steps", "data")


def load(request):
    """Validates every object of the file, nested ones included."""
    count = 0
    for number, (event, value) in enumerate(records.read(request["path"])):
        try:
            count += _event(event, value) if event else _value(value)
        except Exception as error:
            raise ValueError(f"record {number}: {error}") from error
    return {"records": count}


def _event(event, value):
    _validate_event({"event": event, "data": value})
    return 1


def _validate_event(value):
    # The union is not discriminated for pydantic, so its errors list every
    # member; those of the one member the event names are the useful ones.
    name = value["event"]
    for member in STREAM_EVENT._type.__origin__.__args__:
        if name in member.model_fields["event"].annotation.__args__:
            member.model_validate(value)
            return
    raise ValueError(f"unknown event {name!r}")


def _value(value):
    if "event" in value and "data" in value:
        _validate_event(value)
        return 1
    kind = value.get("object")
    if kind in OBJECTS:
        OBJECTS[kind].validate_python(value)
        count = 1
    elif kind == "list" or (kind is None and any(key in value for key in NESTED)):
        count = 0
    else:
        raise ValueError(f"unknown object {kind!r}")
    return count + sum(_value(item) for item in _nested(value))


def _nested(value):
    for key in NESTED:
        items = value.get(key)
        if isinstance(items, dict) and items.get("object") == "list":
            items = items["data"]
        if isinstance(items, list):
            yield from (item for item in items if isinstance(item, dict))
    if isinstance(value.get("thread"), dict):
        yield value["thread"]


OPS = {"load": load}
