"""A worker: claims the tasks of one agent, streams an answer, finishes. Python 3.8+, no packages.

    python3 examples/worker.py http://localhost:4180 AGENT
"""
import json, os, sys, threading, time, urllib.error, urllib.request

BASE, AGENT = sys.argv[1], sys.argv[2]
PACE = float(os.environ.get("WORKER_PACE", "0.05"))


def call(method, path, body=None, **headers):
    headers["Authorization"] = "Bearer " + os.environ.get("SELVEDGE_KEY", "none")
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(BASE + path, data, headers, method=method)
    with urllib.request.urlopen(request, timeout=90) as answer:
        return json.loads(answer.read() or "null")


def work(task):
    lease, links, over = {"Selvedge-Lease": task["lease"]}, task["links"], threading.Event()

    def renew():  # The task stays ours also while we say nothing.
        while not over.wait(task["leaseMs"] / 3000):
            try:
                call("PUT", links["lease"], **lease)
            except OSError:  # The next append tells why.
                pass

    threading.Thread(target=renew, daemon=True).start()
    try:
        messages = call("GET", links["thread"])["messages"]
        said = sum(message["type"] == "user-message" for message in messages)
        answer = f"You said {json.dumps(task['prompt'])}, and {said} things so far."
        for word in answer.split(" "):
            call("POST", links["events"], {"kind": "content-delta", "delta": word + " "}, **lease)
            time.sleep(PACE)
        call("POST", links["events"], {"kind": "task-complete", "content": answer}, **lease)
    finally:
        over.set()


while True:
    try:
        task = call("GET", f"/api/agents/{AGENT}/work?wait=30s&worker=python-{os.getpid()}")
        if task:
            work(task)
    except urllib.error.HTTPError as refused:  # 409: canceled, or another worker has it.
        print(refused.code, refused.read().decode(), file=sys.stderr)
    except OSError:  # The server is being replaced.
        time.sleep(1)
