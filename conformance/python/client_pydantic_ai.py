"""pydantic-ai's agents with their conversations in threads: stored, branched, forked, resumed."""

import asyncio
import pathlib
import sys

from client import URL, api, check

sys.path.insert(0, str(pathlib.Path(__file__).parent / "../../bindings/python"))

from pydantic_ai import Agent, ToolOutput  # noqa: E402,F401
from pydantic_ai.conversation import Conversation  # noqa: E402
from pydantic_ai.conversation_store import ConversationConflict, InMemoryConversationStore  # noqa: E402
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse, TextPart, ToolCallPart  # noqa: E402
from pydantic_ai.models.function import FunctionModel  # noqa: E402
from pydantic_ai.models.test import TestModel  # noqa: E402
from pydantic_ai.tools import DeferredToolRequests  # noqa: E402
from selvedge_pydantic_ai import SelvedgeConversationStore  # noqa: E402

dump = lambda messages: ModelMessagesTypeAdapter.dump_python(messages, mode="json")


def echo(messages, _info):
    """Says how many messages it saw, and what was asked last."""
    asked = [part.content for message in messages for part in message.parts if part.part_kind == "user-prompt"]
    return ModelResponse(parts=[TextPart(f"{len(asked)}: {asked[-1]}")])


agent = Agent(FunctionModel(echo), name="ada")


def stores():
    """Another process would have another store."""
    return SelvedgeConversationStore(URL, agent="ada")


async def say(store, id, words, **options):
    conversation = await store.load(id, **options) or Conversation(conversation_id=id)
    result = await agent.run(words, conversation=conversation)
    await store.save(result)
    return result


async def stored_and_resumed():
    async with stores() as store:
        assert await store.load("pa-1") is None
        first = await say(store, "pa-1", "one")
        second = await say(store, "pa-1", "two")
        assert (first.output, second.output) == ("1: one", "2: two")
    async with stores() as other:
        loaded = await other.load("pa-1")
        assert dump(loaded.messages) == dump(second.conversation.messages)
        assert loaded.usage == second.conversation.usage and loaded.usage.requests == 2
        assert (await say(other, "pa-1", "three")).output == "3: three"
        window = await other.load("pa-1", limit=2)
        assert dump(window.messages) == dump((await other.load("pa-1")).messages[-2:])
        entries = await other.load_entries("pa-1")
        assert [entry.parent_id for entry in entries] == [None, *(entry.id for entry in entries[:-1])]


async def everyone_sees_it():
    state = api("/api/threads/pa-1")
    said = [(message["type"], message["text"]) for message in state["messages"]]
    assert said == [
        ("user-message", "one"), ("assistant-message", "1: one"),
        ("user-message", "two"), ("assistant-message", "2: two"),
        ("user-message", "three"), ("assistant-message", "3: three"),
    ], said
    # What others say is in the history that an agent sees.
    api("/api/threads/pa-1/messages", {"content": "from others", "to": "helper"})
    async with stores() as store:
        seen = await store.history("pa-1")
        words = [part.content for message in seen for part in message.parts if isinstance(part.content, str)]
        assert "3: three" in words and "from others" in words, words
        # And nobody who writes beside a conversation keeps it from being saved.
        assert (await say(store, "pa-1", "four")).output == "4: four"


async def branched_and_back():
    async with stores() as store:
        for words in ("a", "b", "c"):
            last = await say(store, "pa-2", words)
        left = (await store.load_entries("pa-2"))[-1]
        branched = await store.branch("pa-2", at=2, expected_revision=last.conversation.revision)
        assert len(branched.messages) == 2
        assert (await say(store, "pa-2", "again")).output == "2: again"
    async with stores() as other:
        record = await other.read_record("pa-2")
        assert record.branches == [left.id]
        back = await other.branch("pa-2", from_entry=left.id, expected_revision=record.revision)
        assert dump(back.messages)[-1]["parts"][0]["content"] == "3: c"
        assert (await say(other, "pa-2", "d")).output == "4: d"


async def forked():
    async with stores() as store:
        await say(store, "pa-3", "a")
        await say(store, "pa-3", "b")
        fork = await store.fork("pa-3", at=2, new_conversation_id="pa-3-fork", scope="eve")
        result = await agent.run("other", conversation=fork)
        await store.save(result)
        assert result.output == "2: other"
        try:
            await store.fork("pa-3", new_conversation_id="pa-3-fork")
            raise AssertionError("the fork is there already")
        except ConversationConflict:
            pass
    made = api("/api/threads/pa-3-fork/events?kinds=thread-created")["entries"]
    assert made[-1]["event"]["parentThreadId"] == "pa-3"
    texts = [message["text"] for message in api("/api/threads/pa-3-fork")["messages"]]
    assert texts == ["a", "1: a", "other", "2: other"], texts
    async with stores() as store:
        # A fork keeps what it shares.
        await store.delete("pa-3")
        assert await store.load("pa-3") is None
        assert (await say(store, "pa-3-fork", "more")).output == "3: more"


async def of_two_who_save_one_is_told():
    async with stores() as one, stores() as two:
        await say(one, "pa-4", "x")
        mine, theirs = await one.load("pa-4"), await two.load("pa-4")
        results = [await agent.run("mine", conversation=mine), await agent.run("theirs", conversation=theirs)]
        saved = await asyncio.gather(one.save(results[0]), two.save(results[1]), return_exceptions=True)
        refused = [error for error in saved if isinstance(error, ConversationConflict)]
        assert len(refused) == 1, saved
        assert len((await one.load("pa-4")).messages) == 4
        try:
            await one.save(Conversation(conversation_id="pa-4", messages=mine.messages))
            raise AssertionError("it was not loaded")
        except ConversationConflict:
            pass


async def scopes_and_lists():
    async with stores() as store:
        for id in ("pa-5", "pa-6"):
            conversation = Conversation(conversation_id=id)
            await store.save(await agent.run("x", conversation=conversation), scope="list")
        assert await store.load("pa-5", scope="another") is None
        listed = await store.list_conversations(scope="list")
        assert [record.conversation_id for record in listed] == ["pa-6", "pa-5"]
        assert len(await store.list_conversations(scope="list", limit=1)) == 1
        await store.delete("pa-6", scope="list")
        assert [record.conversation_id for record in await store.list_conversations(scope="list")] == ["pa-5"]


async def a_paused_run_goes_on():
    def model(messages, _info):
        done = [part for message in messages for part in message.parts if part.part_kind == "tool-return"]
        if done:
            return ModelResponse(parts=[TextPart(f"done: {done[-1].content}")])
        return ModelResponse(parts=[ToolCallPart("pay", {"amount": 7}, tool_call_id="c1")])

    payer = Agent(FunctionModel(model), name="payer", output_type=[str, DeferredToolRequests])

    @payer.tool_plain(requires_approval=True)
    def pay(amount: int) -> str:
        return f"paid {amount}"

    async with stores() as store:
        result = await payer.run("pay", conversation=Conversation(conversation_id="pa-7"))
        assert isinstance(result.output, DeferredToolRequests)
        await store.save(result)
    assert api("/api/threads/pa-7")["tasks"][0]["status"] != "completed"
    async with stores() as other:
        conversation = await other.load("pa-7")
        answers = conversation.deferred_tool_requests.build_results(approve_all=True)
        rest = await payer.run(conversation=conversation, deferred_tool_results=answers)
        assert rest.output == "done: paid 7", rest.output
        await other.save(rest)
        assert (await other.load("pa-7")).deferred_tool_requests is None
    assert {task["status"] for task in api("/api/threads/pa-7")["tasks"]} == {"completed"}


async def the_same_as_in_memory():
    """What the store gives is what the package's own store gives."""
    memory = InMemoryConversationStore()
    tester = Agent(TestModel(custom_output_text="ok", seed=3))

    @tester.tool_plain
    def look(what: str) -> dict:
        return {"seen": what, "n": [1, 2.5, None]}

    async with stores() as store:
        result = await tester.run("look", conversation=Conversation(conversation_id="pa-8"))
        copy = Conversation(conversation_id="pa-8", messages=list(result.conversation.messages), usage=result.conversation.usage)
        await store.save(result)
        await memory.save(copy)
        ours, theirs = await store.load("pa-8"), await memory.load("pa-8")
        assert dump(ours.messages) == dump(theirs.messages) and ours.usage == theirs.usage
        exported = api("/api/threads/pa-8/export?dialect=pydantic-ai")
        assert [part["part_kind"] for m in exported for part in m["parts"]] == [
            part["part_kind"] for m in dump(ours.messages) for part in m["parts"]
        ], exported


for name, run in [
    ("stored and resumed", stored_and_resumed),
    ("everyone sees it", everyone_sees_it),
    ("branched, and back", branched_and_back),
    ("forked", forked),
    ("of two who save, one is told", of_two_who_save_one_is_told),
    ("scopes and lists", scopes_and_lists),
    ("a paused run goes on", a_paused_run_goes_on),
    ("the same as in memory", the_same_as_in_memory),
]:
    check(name, lambda run=run: asyncio.run(run()))
