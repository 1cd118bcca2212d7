"""The benchmark's peer for ModelMessages: pydantic-ai's own type adapter.

    bench_pydantic.py generate PATH BYTES       writes a history of about that size
    bench_pydantic.py measure PATH REPETITIONS  reads and writes it, prints {"cpu_ms": [...]}
"""

import json
import platform
import random
import sys
import time
from datetime import datetime, timedelta, timezone
from importlib.metadata import version

from pydantic_ai.messages import (
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.usage import RequestUsage

WORDS = (
    "the a of to and in is for on that with as it at by from an be this are or was we can not "
    "journal thread agent model token stream cursor event message tool result order invoice "
    "customer shipment warehouse refund price quarter growth margin forecast table column row "
    "déjà naïve Übergröße Straße 東京 数据 данные 🧵 → “quoted” it’s\n\n- item\n"
).split(" ")


class Writer:
    """Makes up a conversation, the same one every time."""

    def __init__(self):
        self.random = random.Random(20260101)
        self.now = datetime(2026, 1, 1, tzinfo=timezone.utc)
        self.calls = 0
        self.conversation = self.uuid()

    def tick(self):
        self.now += timedelta(microseconds=self.random.randrange(1_000, 9_000_000))
        return self.now

    def uuid(self):
        digits = f"{self.random.getrandbits(128):032x}"
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))

    def text(self, low, high):
        return " ".join(self.random.choices(WORDS, k=self.random.randint(low, high)))

    def request(self, run, parts):
        return ModelRequest(
            parts=parts, timestamp=self.tick(), run_id=run, conversation_id=self.conversation
        )

    def response(self, run, parts, finish):
        pick = self.random.randrange
        return ModelResponse(
            parts=parts,
            usage=RequestUsage(
                input_tokens=pick(200, 90_000),
                cache_read_tokens=pick(0, 50_000),
                output_tokens=pick(10, 4_000),
                details={"reasoning_tokens": pick(0, 900)},
            ),
            model_name="claude-sonnet-4-5-20250929",
            model_id="anthropic:claude-sonnet-4-5",
            timestamp=self.tick(),
            provider_name="anthropic",
            provider_url="https://api.anthropic.com",
            provider_details={"finish_reason": finish},
            provider_response_id=f"msg_{self.random.getrandbits(120):030x}",
            finish_reason="tool_call" if finish == "tool_use" else "stop",
            run_id=run,
            conversation_id=self.conversation,
        )

    def call(self):
        self.calls += 1
        arguments = {
            "query": self.text(4, 12),
            "limit": self.random.randrange(1, 100),
            "filters": {"region": self.random.choice(["eu", "us", "apac"]), "open": True},
        }
        name = self.random.choice(["search_orders", "read_file", "run_sql"])
        id = f"toolu_{self.calls:08x}"
        # A model writes its arguments as text; that is what most providers keep.
        return ToolCallPart(tool_name=name, args=json.dumps(arguments), tool_call_id=id)

    def returned(self, call):
        rows = [
            {"id": self.random.randrange(10**6), "total": self.random.randrange(10**6) / 100}
            for _ in range(self.random.randrange(1, 6))
        ]
        content = self.random.choice([{"rows": rows, "more": False}, self.text(20, 80)])
        return ToolReturnPart(
            tool_name=call.tool_name,
            content=content,
            tool_call_id=call.tool_call_id,
            timestamp=self.tick(),
        )

    def thought(self):
        return ThinkingPart(
            content=self.text(20, 90),
            signature=f"{self.random.getrandbits(512):0128x}",
            provider_name="anthropic",
        )

    def run(self):
        """One run: a question, a round or two of tools, an answer."""
        run = self.uuid()
        prompt = [UserPromptPart(content=self.text(20, 160), timestamp=self.tick())]
        if self.calls == 0:
            system = SystemPromptPart(content=self.text(60, 120), timestamp=self.tick())
            prompt.insert(0, system)
        yield self.request(run, prompt)
        for _ in range(self.random.randint(0, 2)):
            calls = [self.call() for _ in range(self.random.randint(1, 2))]
            yield self.response(run, [self.thought(), *calls], "tool_use")
            yield self.request(run, [self.returned(call) for call in calls])
        yield self.response(run, [TextPart(content=self.text(30, 170))], "end_turn")


def generate(path, size):
    """Writes messages until they are about that many bytes."""
    writer = Writer()
    messages = []
    written = 0
    while written < size:
        run = list(writer.run())
        written += len(ModelMessagesTypeAdapter.dump_json(run))
        messages += run
    data = ModelMessagesTypeAdapter.dump_json(messages)
    with open(path, "wb") as file:
        file.write(data)
    return {"messages": len(messages), "bytes": len(data)}


def measure(path, repetitions):
    """CPU time of reading and writing the whole history; the first time is not counted."""
    with open(path, "rb") as file:
        source = file.read()
    cpu_ms = []
    for _ in range(repetitions + 1):
        begin = time.process_time()
        messages = ModelMessagesTypeAdapter.validate_json(source)
        dumped = ModelMessagesTypeAdapter.dump_json(messages)
        cpu_ms.append((time.process_time() - begin) * 1000)
        if dumped != source:
            raise SystemExit("the peer changed the bytes")
        del messages, dumped
    return {"cpu_ms": cpu_ms[1:], "versions": versions()}


def versions():
    packages = ("pydantic-ai-slim", "pydantic", "pydantic-core")
    return {name: version(name) for name in packages} | {"python": platform.python_version()}


if __name__ == "__main__":
    operation, path, number = sys.argv[1:]
    print(json.dumps({"generate": generate, "measure": measure}[operation](path, int(number))))
