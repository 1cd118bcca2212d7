"""agentscope-runtime: the Agent API's request, response, message and content.

Importing the package plainly pulls in a web server, a task queue and more; its
schemas need none of that, so the packages above them are stubs.
"""

import importlib.util
import pathlib
import sys
import types

import records


def _stub_packages():
    root = importlib.util.find_spec("agentscope_runtime").submodule_search_locations[0]
    for name in ("", ".engine", ".engine.schemas", ".engine.helpers"):
        package = types.ModuleType("agentscope_runtime" + name)
        package.__path__ = [str(pathlib.Path(root, *name.split(".")[1:]))]
        sys.modules[package.__name__] = package


_stub_packages()

from agentscope_runtime.engine.helpers import agent_api_client as client  # noqa: E402
from agentscope_runtime.engine.schemas import agent_schemas as schemas  # noqa: E402

CONTENTS = {
    kind.model_fields["type"].default: kind
    for kind in (
        schemas.TextContent,
        schemas.DataContent,
        schemas.ImageContent,
        schemas.AudioContent,
        schemas.VideoContent,
        schemas.FileContent,
        schemas.RefusalContent,
    )
}
# What the `data` of a message's content must be, by the message's type. That of
# a component is free.
BODIES = {
    "function_call": schemas.FunctionCall,
    "function_call_output": schemas.FunctionCallOutput,
    "plugin_call": schemas.FunctionCall,
    "plugin_call_output": schemas.FunctionCallOutput,
    "mcp_call": schemas.McpCall,
    "mcp_call_output": schemas.McpCallOutput,
    "mcp_list_tools": schemas.McpListTools,
    "mcp_approval_request": schemas.McpApprovalRequest,
    "mcp_approval_response": schemas.McpApprovalResponse,
}


def _constants(holder):
    return {v for k, v in vars(holder).items() if not k.startswith("_") and isinstance(v, str)}


# The schema types these as plain strings; the constants are the contract.
STATUSES = _constants(schemas.RunStatus)
ROLES = _constants(schemas.Role)
MESSAGE_TYPES = _constants(schemas.MessageType)


def load(request):
    """Validates every event, then has the package's own client read the SSE.

    `strict: false` leaves message types alone: the Agent API document itself
    has examples with one that the package does not know.
    """
    found = records.read(request["path"])
    for number, (_, value) in enumerate(found):
        try:
            _value(value, request.get("strict", True))
        except Exception as error:
            raise ValueError(f"record {number}: {error}") from error
    _client_reads(request["path"], found)
    return {"records": len(found)}


def _value(value, strict):
    if "input" in value and "object" not in value:
        request = schemas.AgentRequest.model_validate(value)
        for message in request.input:
            _message(message.model_dump(), strict)
        return
    kind = value.get("object")
    if kind == "response":
        _one_of("status", schemas.AgentResponse.model_validate(value), STATUSES)
        for message in value.get("output") or []:
            _message(message, strict)
    elif kind == "message":
        _message(value, strict)
    elif kind == "content":
        _content(value)
    else:
        raise ValueError(f"unknown object {kind!r}")


def _message(value, strict):
    message = schemas.Message.model_validate(value)
    _one_of("status", message, STATUSES | {None})
    _one_of("role", message, ROLES | {None})
    if strict:
        _one_of("type", message, MESSAGE_TYPES)
    body = BODIES.get(message.type)
    for content in value.get("content") or []:
        _content(content)
        if body and content.get("type") == "data":
            body.model_validate(content["data"])


def _content(value):
    kind = value.get("type")
    if kind not in CONTENTS:
        raise ValueError(f"unknown content type {kind!r}")
    _one_of("status", CONTENTS[kind].model_validate(value), STATUSES | {None})


def _one_of(field, model, allowed):
    value = getattr(model, field)
    if value not in allowed:
        raise ValueError(f"{field} {value!r} is not one of the peer's")


def _client_reads(path, found):
    """The client skips lines it cannot parse, so the counts are compared."""
    with open(path, "rb") as file:
        lines = file.read().splitlines()
    if not any(line.startswith(b"data:") for line in lines):
        return
    data = [text for field, text in map(client.parse_sse_line_bytes, lines) if field == "data"]
    read = sum(client.parse_event_from_json(client.json.loads(text)) is not None for text in data if text != "[DONE]")
    if read != len(found):
        raise ValueError(f"the client read {read} of {len(found)} events")


OPS = {"load": load}
