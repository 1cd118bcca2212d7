"""An agent behind AgentScope's runtime, which speaks the Agent API."""

import asyncio
from collections import Counter

from agentscope.message import Msg, TextBlock, ThinkingBlock
from agentscope_runtime.engine.app import AgentApp
from remote_host import serve

heard = Counter()


def app(_url: str):
    app = AgentApp(app_name="peer", app_description="A peer.")

    @app.query(framework="agentscope")
    async def answer(_runner, msgs, request=None, **_):
        msgs = msgs if isinstance(msgs, list) else [msgs]
        said = msgs[-1].get_text_content()
        heard[request.session_id] += 1
        if "fail" in said:
            raise RuntimeError("it cannot be done")
        thought = ThinkingBlock(type="thinking", thinking="Let me think.")
        whole = f"You said {said}. Message {heard[request.session_id]}."
        if "slow" in said:
            whole = "".join(f"{i} " for i in range(60))
        pace = 0.1 if "slow" in said else 0.01
        if said.startswith("count "):
            pace, whole = 0, " ".join(f"word{i}" for i in range(int(said.removeprefix("count "))))
        told = ""
        message = Msg("peer", [thought], "assistant")
        yield message, False
        for word in whole.split(" "):
            told += word + " "
            # The same message, longer.
            message.content = [thought, TextBlock(type="text", text=told.rstrip())]
            await asyncio.sleep(pace)
            yield message, False
        yield message, True

    return app


serve(app)
