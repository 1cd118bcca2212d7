"""Splits a file into its JSON records, whatever frames them.

Reads Server-Sent Events (with or without a captured HTTP header in front),
newline-delimited JSON, one JSON array, and one JSON value. A record is the pair
of the SSE event name (or None) and the parsed value.
"""

import json

SSE_FIELDS = ("data:", "event:", "id:", "retry:", ":")


def read(path):
    """Returns the records of the file at `path`, maybe none."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return list(_sse(text) if _is_sse(text) else _json(text))


def without_jsonrpc(value):
    """Takes a JSON-RPC request or response down to what it carries."""
    if isinstance(value, dict) and "jsonrpc" in value:
        for key in ("result", "params"):
            if key in value:
                return value[key]
    return value


def is_error(value):
    """Whether the value is an error answer of JSON-RPC or REST: no event in it."""
    return isinstance(value, dict) and not value.keys() - {"jsonrpc", "id", "error"} and "error" in value


def _is_sse(text):
    head = text.lstrip("\ufeff\r\n")
    return head.startswith(SSE_FIELDS) or head.startswith("HTTP/")


def _sse(text):
    text = text.replace("\r\n", "\n")
    if text.startswith("HTTP/"):
        text = text.partition("\n\n")[2]
    event, data = None, []
    for line in [*text.split("\n"), ""]:
        if line.startswith("data:"):
            # Some recordings leave out the blank line between events.
            if data and _complete(data):
                yield from _flush(event, data)
                event, data = None, []
            data.append(line[5:].removeprefix(" "))
        elif line.startswith("event:"):
            event = line[6:].strip()
        elif not line and data:
            yield from _flush(event, data)
            event, data = None, []


def _complete(data):
    try:
        json.loads("\n".join(data))
    except ValueError:
        return False
    return True


def _flush(event, data):
    text = "\n".join(data)
    if text != "[DONE]":
        yield event, json.loads(text)


def _json(text):
    try:
        value = json.loads(text)
    except ValueError:
        values = [json.loads(line) for line in text.splitlines() if line.strip()]
    else:
        values = value if isinstance(value, list) else [value]
    for value in values:
        yield None, value
