"""Pydantic AI conversations as Selvedge threads.

A conversation is the thread of its id. What a save adds is one append, judged against the journal's
head: the messages as events that every other surface shows, each message as it is (an *entry*,
with the entry before it), and the *record* that says where the history ends. The latest record of
the conversation counts. Reading takes the journal's entries and records, and later only what is new.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import httpx2
from pydantic import TypeAdapter
from pydantic_ai.conversation_store import (
    ConversationConflict,
    ConversationEntry,
    ConversationRecord,
    ConversationStore,
)
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter

__all__ = ("SelvedgeConversationStore", "SelvedgeError")

ENTRY = "pydantic-ai.entry"
RECORD = "pydantic-ai.record"
#: Entries of the journal that are read at once.
PAGE = 10_000
#: How often a save is tried while others write to the same thread.
TRIES = 16

_records: TypeAdapter[ConversationRecord] = TypeAdapter(ConversationRecord)


class SelvedgeError(Exception):
    """The server said no: its status, its code and its words."""

    def __init__(self, status: int, code: str, message: str):
        self.status, self.code = status, code
        super().__init__(f"{status} {code}: {message}")


@dataclass
class _Line:
    """What is known of a thread's journal."""

    cursor: str = "earliest"
    record: ConversationRecord | None = None
    #: Entries by their ids, each with its place in the journal.
    entries: dict[str, tuple[int, ConversationEntry]] = field(default_factory=dict)


class SelvedgeConversationStore(ConversationStore):
    """Keeps conversations in the threads of a Selvedge server."""

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        agent: str = "agent",
        client: httpx2.AsyncClient | None = None,
    ):
        """A store on the server at `url`.

        Args:
            url: Where the server is.
            key: A key with the scopes `read` and `write`, if the server wants one.
            agent: Who the agent is in its threads: messages do not say it.
            client: What asks, if not a client of its own.
        """
        self._agent = agent
        self._url = url.rstrip("/")
        self._headers = {"authorization": f"Bearer {key}"} if key else {}
        self._client = client or httpx2.AsyncClient(timeout=60)
        self._lines: dict[str, _Line] = {}

    async def __aenter__(self) -> SelvedgeConversationStore:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    async def history(self, thread: str, agent: str | None = None) -> list[ModelMessage]:
        """Any thread as one of its agents sees it, whoever said what and where; this one unless told."""
        agent = agent or self._agent
        path = f"/api/threads/{quote(thread, safe='')}/export?dialect=pydantic-ai&agent={quote(agent, safe='')}"
        return ModelMessagesTypeAdapter.validate_python(await self._ask("GET", path))

    async def read_record(self, conversation_id: str) -> ConversationRecord | None:
        line = await self._read_line(conversation_id)
        return None if line is None or line.record is None else _copy(line.record)

    async def read_records(self, *, scope: str | None = None, limit: int | None = None) -> Sequence[ConversationRecord]:
        # The server's lists follow behind what is saved; what was saved here is known here.
        ids = dict.fromkeys(self._lines)
        seen = 0
        asked = "metadata.pydantic-ai=true" + (f"&metadata.scope={quote(json.dumps(scope), safe='')}" if scope is not None else "")
        after = ""
        while limit is None or seen < limit:
            page = await self._ask("GET", f"/api/threads?limit=100&{asked}{after}")
            ids |= dict.fromkeys(thread["id"] for thread in page["threads"])
            seen += len(page["threads"])
            if page["next"] is None:
                break
            after = f"&after={quote(page['next'], safe='')}"
        records = [await self.read_record(id) for id in ids]
        found = [record for record in records if record is not None and scope in (None, record.scope)]
        found.sort(key=lambda record: record.updated_at, reverse=True)
        return found[:limit]

    async def read_entry(self, entry_id: str) -> ConversationEntry:
        return self._found(entry_id)[1]

    async def read_history(self, head_id: str | None, *, limit: int | None = None) -> list[ConversationEntry]:
        history: list[ConversationEntry] = []
        while head_id is not None and (limit is None or len(history) < limit):
            entry = self._found(head_id)[1]
            history.append(entry)
            head_id = entry.parent_id
        history.reverse()
        return history

    async def write_record(
        self,
        record: ConversationRecord,
        *,
        new_entries: Sequence[ConversationEntry] = (),
        expected_revision: str | None,
    ) -> None:
        id = record.conversation_id
        for _ in range(TRIES):
            line = await self._read_line(id)
            stored = line.record if line is not None else None
            if (stored.revision if stored is not None else None) != expected_revision:
                raise ConversationConflict(id)
            if line is None:
                await self._begin(record)
                continue
            if record.head_id not in {None, *line.entries, *(entry.id for entry in new_entries)}:
                raise ConversationConflict(id)
            marks = [] if stored is not None and stored.scope == record.scope else [_mark(record)]
            paused = stored if stored is not None and stored.deferred_tool_requests is not None else None
            runs = [entry.message for entry in new_entries]
            if paused is not None and paused.head_id in line.entries:
                runs.append(line.entries[paused.head_id][1].message)
            events = marks + self._events(record, new_entries)
            if record.deferred_tool_requests is None:
                over = dict.fromkeys(run.run_id for run in runs if run.run_id is not None)
                events[-1:-1] = [{"kind": "task-complete", "taskId": run} for run in over]
            try:
                await self._ask("POST", f"{_path(id)}/events", events, {"if-match": line.cursor})
                return
            except SelvedgeError as error:
                # Someone wrote to the thread: perhaps to the conversation, perhaps beside it.
                if error.code not in ("conflict", "not_found"):
                    raise
        raise ConversationConflict(id)

    async def delete_record(self, conversation_id: str, *, expected_revision: str) -> None:
        line = await self._read_line(conversation_id)
        if line is None or line.record is None or line.record.revision != expected_revision:
            raise ConversationConflict(conversation_id)
        gone = [{"kind": RECORD, "conversationId": conversation_id, "record": None}]
        path = _path(conversation_id)
        try:
            # Whoever saves meanwhile is told; only then it goes.
            await self._ask("POST", f"{path}/events", gone, {"if-match": line.cursor})
            await self._ask("DELETE", path)
        except SelvedgeError as error:
            if error.code in ("conflict", "not_found"):
                raise ConversationConflict(conversation_id) from error
            raise
        self._lines.pop(conversation_id, None)

    async def _begin(self, record: ConversationRecord) -> None:
        """Makes the thread of a conversation: a branch, if it is a fork."""
        id, source = record.conversation_id, record.forked_from
        try:
            if source is None or record.head_id is None:
                await self._ask("POST", "/api/threads", {"id": id})
            else:
                line = await self._read_line(source)
                place = line.entries.get(record.head_id) if line is not None else None
                if place is None:
                    raise ConversationConflict(id)
                await self._ask("POST", f"{_path(source)}/fork", {"id": id, "at": place[0]})
        except SelvedgeError as error:
            if error.code != "thread_exists":
                raise

    async def _read_line(self, id: str) -> _Line | None:
        """What there is of a conversation's thread, up to now; `None` if it is not there."""
        line = self._lines.setdefault(id, _Line())
        while True:
            asked = f"?kinds={ENTRY},{RECORD}&limit={PAGE}&after={line.cursor}"
            try:
                page = await self._ask("GET", f"{_path(id)}/events{asked}")
            except SelvedgeError as error:
                if error.code == "bad_cursor" and line.cursor != "earliest":
                    # Another thread of the same id: the one that is known was deleted.
                    line = self._lines[id] = _Line()
                    continue
                if error.code == "not_found":
                    self._lines.pop(id, None)
                    return None
                raise
            for place in page["entries"]:
                _apply(line, id, place["seq"], place["event"])
            line.cursor = page["cursor"]
            if page["cursor"].rpartition(".")[2] == str(page["head"]):
                return line

    def _events(self, record: ConversationRecord, new_entries: Sequence[ConversationEntry]) -> list[dict[str, Any]]:
        """What a save appends: the messages for everyone, then the entries and the record for stores."""
        messages = ModelMessagesTypeAdapter.dump_python([entry.message for entry in new_entries], mode="json")
        source = {"dialect": "pydantic-ai", "source": messages, "agent": self._agent}
        events: list[dict[str, Any]] = [source] if messages else []
        for entry, message in zip(new_entries, messages):
            events.append({"kind": ENTRY, "entryId": entry.id, "parentId": entry.parent_id, "message": message})
        kept = _records.dump_python(record, mode="json")
        events.append({"kind": RECORD, "conversationId": record.conversation_id, "record": kept})
        return events

    def _found(self, entry_id: str) -> tuple[int, ConversationEntry]:
        for line in self._lines.values():
            if entry_id in line.entries:
                return line.entries[entry_id]
        raise LookupError(f"entry {entry_id!r} is in no conversation that was read")

    async def _ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Any:
        content = None if body is None else json.dumps(body)
        answer = await self._client.request(
            method, self._url + path, content=content, headers=self._headers | (headers or {})
        )
        if answer.is_success:
            return answer.json() if answer.content else None
        try:
            error = answer.json()["error"]
            raise SelvedgeError(answer.status_code, error["code"], error["message"])
        except (ValueError, KeyError, TypeError) as unreadable:
            raise SelvedgeError(answer.status_code, "unreadable", answer.text[:200]) from unreadable


def _path(id: str) -> str:
    return f"/api/threads/{quote(id, safe='')}"


def _copy(record: ConversationRecord) -> ConversationRecord:
    return _records.validate_python(_records.dump_python(record))


def _apply(line: _Line, id: str, seq: int, event: dict[str, Any]) -> None:
    """Takes in an event of a thread. A fork's journal begins with its source's."""
    if event["kind"] == ENTRY:
        message = ModelMessagesTypeAdapter.validate_python([event["message"]])[0]
        entry = ConversationEntry(id=event["entryId"], parent_id=event["parentId"], message=message)
        line.entries[entry.id] = (seq, entry)
    elif event["kind"] == RECORD and event["conversationId"] == id:
        record = event["record"]
        line.record = None if record is None else _records.validate_python(record)


def _mark(record: ConversationRecord) -> dict[str, Any]:
    """By what lists find the conversation."""
    scope = {} if record.scope is None else {"scope": record.scope}
    return {"kind": "thread-updated", "metadata": {"pydantic-ai": True} | scope}
