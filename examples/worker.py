"""A worker: claims the tasks of one agent, streams an answer, finishes. Python 3.8+, no packages.

    python3 examples/worker.py http://localhost:4180 AGENT

Every append renews the lease. One that thinks in silence renews it with `PUT links.lease`.
"""
import json, os, sys, time, urllib.error, urllib.request

BASE, AGENT = sys.argv[1], sys.argv[2]
PACE = float(os.environ.get("WORKER_PACE", "0.05"))


def call(path, body=None, **headers):
    headers["Authorization"] = "Bearer " + os.environ.get("SELVEDGE_KEY", "none")
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(BASE + path, data, headers), timeout=90) as answer:
        return json.loads(answer.read() or "null")


def work(task):
    lease, events = {"Selvedge-Lease": task["lease"]}, task["links"]["events"]
    messages = call(task["links"]["thread"])["messages"]
    said = sum(message["type"] == "user-message" for message in messages)
    answer = f"You said {json.dumps(task['prompt'])}, and {said} things so far."
    for word in answer.split(" "):
        call(events, {"kind": "content-delta", "delta": word + " "}, **lease)
        time.sleep(PACE)
    call(events, {"kind": "task-complete", "content": answer}, **lease)


while True:
    try:
        task = call(f"/api/agents/{AGENT}/work?wait=30s&worker=python-{os.getpid()}")
        if task:
            work(task)
    except urllib.error.HTTPError as refused:  # 409: canceled, or another worker has it.
        print(refused.code, refused.read().decode(), file=sys.stderr)
    except OSError:  # The server is being replaced.
        time.sleep(1)
