"""a2a-sdk 1.x: parses ProtoJSON, refusing unknown fields and missing ones."""

from a2a import types
from a2a.utils.proto_utils import validate_proto_required_fields
from google.protobuf.json_format import ParseDict

import records

STREAM_MEMBERS = {"task", "message", "statusUpdate", "artifactUpdate"}


def load(request):
    """Parses every record of the file and checks the required fields."""
    found = records.read(request["path"])
    for number, (_, value) in enumerate(found):
        try:
            _parse(value)
        except Exception as error:
            raise ValueError(f"record {number}: {_explain(error)}") from error
    return {"records": len(found)}


def _parse(value):
    if records.is_error(value):
        return
    value = records.without_jsonrpc(value)
    message = ParseDict(value, _class_of(value)())
    # To the validator an empty page token is a missing one, though the SDK's own
    # server sends it on the last page.
    if not isinstance(message, types.ListTasksResponse):
        validate_proto_required_fields(message)
    if isinstance(message, types.StreamResponse):
        if message.WhichOneof("payload") is None:
            raise ValueError("no payload is set")
    _check_parts(message)


def _class_of(value):
    keys = set(value)
    if "configuration" in keys:
        return types.SendMessageRequest
    if keys & STREAM_MEMBERS and not keys - STREAM_MEMBERS:
        return types.StreamResponse
    if "tasks" in keys:
        return types.ListTasksResponse
    if "skills" in keys:
        return types.AgentCard
    if "messageId" in keys:
        return types.Message
    if "artifact" in keys:
        return types.TaskArtifactUpdateEvent
    if "artifactId" in keys:
        return types.Artifact
    if "taskId" in keys:
        return types.TaskStatusUpdateEvent
    if "status" in keys:
        return types.Task
    raise ValueError(f"no A2A 1.0 object has exactly the members {sorted(keys)}")


def _check_parts(message):
    for field, value in message.ListFields():
        if field.message_type is None or field.message_type.file.package != "lf.a2a.v1":
            continue
        for item in [value] if hasattr(value, "DESCRIPTOR") else value:
            if isinstance(item, types.Part) and item.WhichOneof("content") is None:
                raise ValueError("a part has no content")
            if hasattr(item, "ListFields"):
                _check_parts(item)


def _explain(error):
    details = getattr(error, "data", None)
    return f"{error} {details}" if details else str(error)


OPS = {"load": load}
