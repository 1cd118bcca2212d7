"""The benchmark's peer for turns: pydantic-ai's own loop, with a model that says what is written down.

    bench_pydantic_loop.py TURNS THOUGHTS WORDS   runs turns, prints events, seconds and CPU time

A turn thinks so many words, calls one tool, and answers in so many words. Every event that
`run_stream_events` gives is counted and written as JSON, as whoever shows or keeps them has to;
nothing is kept.
"""

import asyncio
import json
import sys
import time

from pydantic import TypeAdapter
from pydantic_ai import Agent
from pydantic_ai.messages import AgentStreamEvent, ModelResponse
from pydantic_ai.models.function import DeltaThinkingPart, DeltaToolCall, FunctionModel
from pydantic_ai.run import AgentRunResultEvent

from bench_pydantic import versions

EVENT = TypeAdapter(AgentStreamEvent)


async def main(turns, thoughts, words):
    async def say(messages, _info):
        if any(isinstance(message, ModelResponse) for message in messages):
            for word in range(words):
                yield f"word{word} "
            return
        for word in range(thoughts):
            yield {0: DeltaThinkingPart(content=f"thought{word} ")}
        yield {1: DeltaToolCall(name="list", json_args="{}", tool_call_id="c1")}

    agent = Agent(FunctionModel(stream_function=say))

    @agent.tool_plain(name="list")
    def nothing() -> list[str]:
        return []

    async def turn():
        count = 0
        async with agent.run_stream_events("go") as events:
            async for event in events:
                if not isinstance(event, AgentRunResultEvent):
                    EVENT.dump_json(event)
                count += 1
        return count

    await turn()
    begin, cpu = time.perf_counter(), time.process_time()
    events = 0
    for _ in range(turns):
        events += await turn()
    seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
    return {"events": events, "seconds": seconds, "cpu_s": cpu, "versions": versions()}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(*map(int, sys.argv[1:])))))
