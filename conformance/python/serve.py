"""Answers one JSON request per line of stdin with one JSON line on stdout.

Usage: python serve.py MODULE. The module's OPS maps an operation's name to a
function from the request to the members of the answer; what it raises is the
peer's refusal.
"""

import importlib
import json
import sys


def main():
    """Serves the module named on the command line until stdin closes."""
    answers = sys.stdout
    # A peer that prints must not break the protocol.
    sys.stdout = sys.stderr
    ops = importlib.import_module(sys.argv[1]).OPS
    for line in sys.stdin:
        request = json.loads(line)
        answer = {"id": request["id"], **_answer(ops, request)}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _answer(ops, request):
    try:
        return {"ok": True, **ops[request["op"]](request)}
    except Exception as error:  # noqa: BLE001 - any refusal is the answer
        return {"ok": False, "error": f"{type(error).__name__}: {_shorten(error)}"}


def _shorten(error):
    lines = str(error).splitlines()
    return "\n".join(line for line in lines if "For further information visit" not in line)


if __name__ == "__main__":
    main()
