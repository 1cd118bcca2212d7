"""What the clients of surfaces share: saying what was seen to work, and leaving with a reason."""

import json
import sys
import traceback
import urllib.request
import uuid

URL = sys.argv[1] if len(sys.argv) > 1 else ""


def check(name, run):
    """Runs one check; the first that fails ends the program."""
    try:
        run()
    except BaseException:
        print(f"{name}:", file=sys.stderr)
        traceback.print_exc()
        sys.exit(1)
    print(name, flush=True)


def api(path, body=None):
    """The native API, for what a client's own protocol cannot say."""
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(URL + path, data=data), timeout=60) as answer:
        text = answer.read()
    return json.loads(text) if text else None


def answered_by(agent):
    """A thread in which an agent takes part, and so answers."""
    thread = str(uuid.uuid4())
    api("/api/threads", {"id": thread})
    api(f"/api/threads/{thread}/events", {"kind": "participant-joined", "participantId": agent, "role": "agent"})
    return thread
