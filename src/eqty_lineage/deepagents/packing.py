"""What of a payload is stored in place, and what is referred to: the messages of states, requests and prompts."""

from __future__ import annotations

from typing import Any

from eqty_lineage.langchain import UNCLAIMED
from langchain_core.messages import BaseMessage

from eqty_lineage.deepagents import references
from eqty_lineage.deepagents.drafting import Drafting
from eqty_lineage.deepagents.payloads import plain, serialise
from eqty_lineage.deepagents.recording import sdk
from eqty_lineage.deepagents.runs import Kind
from eqty_lineage.deepagents.sinks import StateSink
from eqty_lineage.deepagents.transcripts import extend


class Packing(Drafting):
    """Packs payloads for the frame of the callback that is running."""

    _inline_messages = False

    def transcript_of(self, value: Any, sink: StateSink) -> Any:
        """Refer to a state's messages: to the transcript of all, or of those an update adds."""
        if not isinstance(value, list) or not all(isinstance(message, BaseMessage) for message in value):
            return UNCLAIMED
        run = sink.run
        run.root.messages.look_at(value)
        cids = tuple(run.root.messages.cid(message, self.keep) for message in value)
        lane = run.lane
        transcript = extend(None if sink.is_update else lane.transcript, cids, self.keep)
        if not sink.is_update:
            lane.transcript = transcript
        return references.reference("messages", transcript.cid)

    def pack(self, kind: str, payload: Any) -> Any:
        """Return a payload of the base handler as it is stored: what is long or stored already becomes a reference."""
        frame = self._require_frame()
        if frame.prompt is not None:
            if kind == "Prompt":
                frame.prompt_cid = sdk.cid_of(serialise(frame.prompt))
                return frame.prompt
            if kind == "Document" and isinstance(payload, dict) and frame.prompt_cid is not None:
                messages = references.reference("payload", frame.prompt_cid)
                return self.refined({**payload, "messages": frame.prompt if self._inline_messages else messages})
        payload = (
            frame.run.root.conversation.discretion.refine_schema(payload) if kind == "Tool" else self.refined(payload)
        )
        if kind not in ("Document", "Reasoning") or frame.run.kind is Kind.RETRIEVER:
            return payload
        return references.shorten(payload, self.keep_apart)

    @property
    def keep_apart(self) -> references.Keep | None:
        """What stores long values on their own, unless payloads are to hold everything."""
        return None if self._inline_messages else self.keep

    def shortened(self, payload: Any) -> Any:
        """Return a payload as it may be stored, its long values kept apart unless payloads are to hold everything."""
        return references.shorten(self.refined(payload), self.keep_apart)

    def prompt_of(self, messages: list[list[Any]], *, is_talk: bool = False) -> Any:
        """Return the payload of a prompt; ``is_talk`` says that it holds the talk so far as one text."""
        shown = self._require_frame().run.root.messages
        if is_talk and self.memory.has_calls:
            # which of it are a withheld file's bytes cannot be told
            return [
                [
                    {**plain(message), "content": self.memory.mark(plain(message.content), "the talk so far")}
                    for message in batch
                ]
                for batch in messages
            ]
        for batch in messages:
            shown.look_at(batch)
        if self._inline_messages:
            return references.shorten(self.refined(plain(messages)), None)
        return [[shown.payload(message, self.keep) for message in batch] for batch in messages]
