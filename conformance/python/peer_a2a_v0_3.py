"""a2a-sdk 0.3: parses events, tasks and messages with its own types.

JSON-RPC carries the pydantic types, told apart by `kind`; REST carries the
protobuf ones, which have none.
"""

from a2a import types
from a2a.grpc import a2a_pb2
from google.protobuf.json_format import ParseDict

import records

KINDS = {
    "task": types.Task,
    "message": types.Message,
    "status-update": types.TaskStatusUpdateEvent,
    "artifact-update": types.TaskArtifactUpdateEvent,
}


def load(request):
    """Parses every record of the file by its `kind`."""
    found = records.read(request["path"])
    for number, (_, value) in enumerate(found):
        try:
            _parse(value)
        except Exception as error:
            raise ValueError(f"record {number}: {error}") from error
    return {"records": len(found)}


def _parse(value):
    if records.is_error(value):
        return
    value = records.without_jsonrpc(value)
    kind = value.get("kind")
    if kind in KINDS:
        _check_kept(value, KINDS[kind].model_validate(value))
    elif kind is not None:
        raise ValueError(f"unknown kind {kind!r}")
    elif "skills" in value:
        types.AgentCard.model_validate(value)
    elif "message" in value and "kind" in value["message"]:
        types.MessageSendParams.model_validate(value)
    else:
        ParseDict(value, _proto_class_of(value)())


def _check_kept(value, model):
    """The types drop what they do not know and assume what is missing, a part's
    kind among others; so what they kept has to be what they were given."""
    kept = _without_nulls(model.model_dump(mode="json", by_alias=True))
    if kept != _without_nulls(value):
        raise ValueError(f"the peer makes of it {kept}")


def _without_nulls(value):
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value


def _proto_class_of(value):
    if "status" in value and "id" in value:
        return a2a_pb2.Task
    if "messageId" in value:
        return a2a_pb2.Message
    return a2a_pb2.StreamResponse


OPS = {"load": load}
