"""Manifests of any length, in the shape that recorded ones have, made without running or signing anything.

For how readers do at scale; what is true of manifests is tested on recorded ones.
"""

import base64
import functools
import hashlib
import json
from datetime import UTC, datetime, timedelta
from typing import Any

_BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
_SIGNER = "did:key:z6MkezMNUK6uYo58Bqrk2j4GQ7VnoJ9DuiU9bzWDEfgshuxs"
_KEPT = 20
"""Messages that a prompt holds, as after a compaction."""
_TASK = 25
"""Turns of a subagent's lane."""
_DATA, _STATEMENT = b"\x01\x55\x1e\x20", b"\x01\xb1\x03\x1e\x20"
_FILES = 40
"""Paths that are written again and again."""


@functools.cache
def synthetic(steps: int) -> bytes:
    """Return the manifest of a run of so many steps: half turns, half tool calls, in lanes of some fifty steps each.

    Its CIDs have the form of real ones and are no BLAKE3 hashes; nothing in it is signed.
    """
    return json.dumps(_Writer().run(steps), ensure_ascii=False).encode()


def _cid(content: bytes, codec: bytes = _DATA) -> str:
    digest = codec + hashlib.sha256(content).digest()
    return "b" + base64.b32encode(digest).decode().lower().rstrip("=")


class _Writer:
    def __init__(self) -> None:
        self.statements: dict[str, Any] = {}
        self.blobs: dict[str, str] = {}
        self.sequence = 0
        self.files: dict[str, tuple[int, str, str]] = {}
        self.talk: dict[str, list[dict[str, Any]]] = {}

    def run(self, steps: int) -> dict[str, Any]:
        self.root = self._uuid("root")
        lane, agent, started, turns = "", "researcher", None, 0
        made = 0
        self._say("", {"role": "human", "content": "Write forty chapters."})
        while made < steps:
            turns += 1
            last = steps - made == 1
            leaving = lane != "" and turns > _TASK
            entering = lane == "" and turns > _TASK and steps - made > 2 * _TASK
            call = None if last or leaving else self._call(made, task=entering)
            response = self._turn(lane, agent, call)
            made += 1
            if leaving:
                # the task call ends when its subagent has
                assert started is not None
                self._tool("", "researcher", *started)
                made += 1
                lane, agent, started, turns = "", "researcher", None, 0
            elif entering:
                assert call is not None
                started, turns = (call, response), 0
                lane, agent = f"tools:{self._uuid(call['id'])}", "librarian"
                self._say(lane, {"role": "human", "content": call["args"]["description"]})
            elif call is not None:
                self._tool(lane, agent, call, response)
                made += 1
        self._computation("researcher", "graph", "", "researcher", [], [], run=self.root, parent=None, vocabulary=1)
        return {"version": "3", "contexts": {}, "statements": self.statements, "blobs": self.blobs}

    # --- steps

    def _call(self, number: int, *, task: bool) -> dict[str, Any]:
        path = f"/chapters/{number // 2 % _FILES:02}.md"
        known = self.files.get(path)
        if task:
            name: str = "task"
            arguments: Any = {"subagent_type": "librarian", "description": f"Look up what step {number} needs."}
        elif number % 20 == 0:
            name = "write_todos"
            arguments = {
                "todos": [
                    {"content": f"Part {part}", "status": "completed" if part * 100 < number else "pending"}
                    for part in range(8)
                ]
            }
        elif known is None:
            name = "write_file"
            arguments = {"file_path": path, "content": "".join(f"Line {line} of {path}.\n" for line in range(30))}
        elif number % 3 == 0:
            name, arguments = "read_file", {"file_path": path}
        else:
            line = number % 30
            old = known[2].splitlines()[line]
            name = "edit_file"
            arguments = {"file_path": path, "old_string": old, "new_string": f"Line {line}, revised in step {number}."}
        return {"name": name, "args": arguments, "id": f"call-{number}", "type": "tool_call"}

    def _turn(self, lane: str, agent: str, call: dict[str, Any] | None) -> str:
        answer = {"role": "ai", "content": "Done." if call is None else "Next."}
        if call is not None:
            answer["tool_calls"] = [call]  # type: ignore[assignment]
        run, parent = self._uuid(f"turn {self.sequence}"), self._uuid(f"model {self.sequence}")
        prompt = self._asset([self.talk[lane][-_KEPT:]], "Prompt", "ChatModel: prompt")
        model = self._asset({"model": "ChatModel", "provider": "chat"}, "Model", "ChatModel")
        state = self._state(f"{agent}/model {self.sequence}", "model: input state")
        system = self._asset(f"You are {agent}.", "System_Prompt", "ChatModel: system prompt")
        request = self._asset({"prompt": prompt, "model": "ChatModel"}, "Document", "ChatModel: LangChain request")
        body = self._asset({"generations": [answer], "run": run}, "Document", "ChatModel: response body")
        response = self._asset([{**answer, "id": run}], "Reasoning", "ChatModel: response")
        of = {"run": run, "parent": parent}
        self._computation(
            "ChatModel: request", "chat_request", lane, agent, [prompt, model, state, system], [request], **of
        )
        self._computation("ChatModel", "chat_inference", lane, agent, [request, model], [body], **of)
        self._computation("ChatModel", "chat_model", lane, agent, [body], [response], **of)
        left = self._state(f"{agent}/model {self.sequence} left", "model: output state")
        self._computation("model", "graph_node", lane, agent, [state, response], [left], run=parent, parent=self.root)
        self._say(lane, answer)
        return response

    def _tool(self, lane: str, agent: str, call: dict[str, Any], response: str) -> None:
        name, arguments = call["name"], call["args"]
        inputs = [
            self._asset(f"def {name}(): ...", "Tool", name),
            self._asset(arguments, "Dataset", f"{name}: input"),
            response,
        ]
        outputs = [self._asset({"result": f"{name} {call['id']}: done"}, "Dataset", f"{name}: output")]
        uses: list[dict[str, Any]] = []
        if name == "write_todos":
            outputs.append(self._asset(arguments["todos"], "Dataset", "todo list"))
        elif name != "task":
            self._touch(name, arguments, uses)
            inputs += [use["cid"].removeprefix("urn:cid:") for use in uses if use["role"] != "wrote"]
            outputs += [use["cid"].removeprefix("urn:cid:") for use in uses if use["role"] == "wrote"]
        self._computation(
            name,
            "tool",
            lane,
            agent,
            inputs,
            outputs,
            run=self._uuid(call["id"]),
            parent=self.root,
            tool_call_id=call["id"],
            **({"files": uses} if uses else {}),
        )
        self._say(lane, {"role": "tool", "content": f"{name}: done", "tool_call_id": call["id"]})

    def _touch(self, tool: str, arguments: dict[str, Any], uses: list[dict[str, Any]]) -> None:
        path = arguments["file_path"]

        def use(role: str, version: int, cid: str, evidence: str) -> None:
            uses.append({"path": path, "cid": f"urn:cid:{cid}", "version": version, "role": role, "evidence": evidence})

        known = self.files.get(path)
        if tool == "read_file" and known is not None:
            use("read", *known[:2], "arguments")
            return
        if known is None:
            text, evidence = arguments["content"], "arguments"
        else:
            text = known[2].replace(arguments["old_string"], arguments["new_string"], 1)
            evidence = "reconstructed"
            use("replaced", *known[:2], "reconstructed")
        version = 1 if known is None else known[0] + 1
        cid = self._asset(text, "Document", path, file_path=path)
        self.files[path] = (version, cid, text)
        use("wrote", version, cid, evidence)

    # --- statements

    def _say(self, lane: str, message: dict[str, Any]) -> None:
        self.talk.setdefault(lane, []).append(message)

    def _uuid(self, name: str) -> str:
        digits = hashlib.sha256(name.encode()).hexdigest()
        return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:32]}"

    def _state(self, of: str, name: str) -> str:
        state = {"files": {path: known[1] for path, known in self.files.items()}, "occurrence": {"of": of}}
        return self._asset(state, "Dataset", name)

    def _blob(self, content: bytes) -> str:
        cid = _cid(content)
        self.blobs.setdefault(cid, base64.b64encode(content).decode())
        return cid

    def _state_that(self, kind: str, **fields: Any) -> str:
        now = (_BEGAN + timedelta(seconds=self.sequence // 10)).strftime("%Y-%m-%dT%H:%M:%SZ")
        statement = {"@context": "urn:cid:none", "@type": kind, **fields, "registeredBy": _SIGNER, "timestamp": now}
        id_ = "urn:cid:" + _cid(json.dumps(statement).encode(), _STATEMENT)
        self.statements.setdefault(id_, {"@id": id_, **statement})
        return id_

    def _asset(self, payload: Any, kind: str, name: str, **more: Any) -> str:
        content = payload.encode() if isinstance(payload, str) else json.dumps(payload).encode()
        cid = _cid(content)
        if cid not in self.blobs:
            self._blob(content)
            self._state_that("DataRegistration", data=f"urn:cid:{cid}")
            self._describe(f"urn:cid:{cid}", {"name": name, "assetType": kind, **more})
        return cid

    def _describe(self, subject: str, metadata: dict[str, Any]) -> None:
        cid = self._blob(json.dumps(metadata).encode())
        self._state_that("MetadataRegistration", subject=subject, metadata=f"urn:cid:{cid}")

    def _computation(
        self,
        name: str,
        kind: str,
        lane: str,
        agent: str,
        inputs: list[str],
        outputs: list[str],
        *,
        run: str,
        parent: str | None,
        **more: Any,
    ) -> None:
        self.sequence += 1
        at = (_BEGAN + timedelta(milliseconds=100 * self.sequence)).isoformat()
        id_ = self._state_that(
            "ComputationRegistration",
            input=[f"urn:cid:{cid}" for cid in inputs],
            output=[f"urn:cid:{cid}" for cid in outputs],
            operatedBy=_SIGNER,
            executedOn=f"urn:uuid:{run}#{self.sequence}",
        )
        self._describe(
            id_,
            {
                "name": name,
                "computation_type": kind,
                "framework": "deepagents",
                "sequence": self.sequence,
                "agent": agent,
                "lane": lane,
                "run_id": run,
                "parent_run_id": parent,
                "root_run_id": self.root,
                "status": "ok",
                "started_at": at,
                "ended_at": at,
                **more,
            },
        )
