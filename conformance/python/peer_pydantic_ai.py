"""pydantic-ai 1.x and 2.x: loads ModelMessages and dumps them again."""

from pydantic_ai.messages import ModelMessagesTypeAdapter


def load(request):
    """Loads the file; `identical` says whether the dump has the same bytes."""
    with open(request["path"], "rb") as file:
        source = file.read()
    messages = ModelMessagesTypeAdapter.validate_json(source)
    dumped = ModelMessagesTypeAdapter.dump_json(messages)
    # A dump the peer cannot read back would not survive its next turn.
    ModelMessagesTypeAdapter.validate_json(dumped)
    return {"records": len(messages), "identical": dumped == source.rstrip(b"\n")}


OPS = {"load": load}
