"""Neither credentials nor the bytes of withheld files are recorded, whatever a release hands to callbacks."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import tool

from support.agents import Session, asked, asks, call, edit, read, says, task, write
from support.canaries import canary, found, recorded, short, withheld
from support.releases import agent, disk, needs_deepagents, needs_tools, subagent
from support.sdk import cid_of


@pytest.fixture(autouse=True)
def _deepagents() -> None:
    needs_deepagents()


def record(*turns: Any, inputs: Any = None, options: dict[str, Any] | None = None, **more: Any) -> Session:
    session = Session(verbose=True, **(options or {}))
    session.invoke(agent(*turns, **more), inputs)
    return session


def nothing_of(session: Session, secrets: Iterable[str]) -> None:
    assert not found(recorded(session), secrets)


@pytest.mark.parametrize("identity", ["content", "hidden"])
def test_a_withheld_file_is_written_edited_refused_and_read(identity: str):
    first, second, tiny = canary("first"), canary("second"), short()
    session = record(
        write("w", "/.env", f"{first}\n{tiny}\n"),
        edit("e", "/.env", first, second),
        edit("missing", "/.env", f"{first} {tiny}", "x"),
        write("again", "/.env", f"{tiny}\n"),
        read("r", "/.env"),
        says(f"I saw {second}"),
        options={"identity": identity},
    )
    nothing_of(session, [first, second, tiny])
    assert len(withheld(session, "/.env")) >= 2
    lineage = session.lineage()
    (written,) = lineage.tool("w").files("wrote").values()
    assert (written == cid_of(f"{first}\n{tiny}\n")) is (identity == "content")
    assert lineage.producers(written) == ["write_file"]


def test_a_withheld_file_of_a_disk_is_read_and_searched(tmp_path: Path):
    needs_tools("grep")
    text, tiny = canary("disk"), short()
    (tmp_path / "server.key").write_text(f"{text}\n{tiny}\n", encoding="utf-8")
    session = record(
        read("r", "/server.key"),
        call("grep", "g", pattern="CANARY", output_mode="content"),
        says(f"{text}"),
        backend=disk(tmp_path),
    )
    nothing_of(session, [text, tiny])


def test_a_subagent_reads_what_its_caller_wrote():
    text, tiny = canary("shared"), short()
    helper = subagent("helper", read("r", "/.env"), says(f"It holds {text}."))
    session = record(write("w", "/.env", f"{text}\n{tiny}\n"), task("t", "helper", f"Find {text}"), subagents=[helper])
    nothing_of(session, [text, tiny])


def test_credentials_in_arguments_metadata_configuration_and_results():
    keys = [canary(place) for place in ("argument", "configurable", "metadata", "nested")]

    @tool
    def login(user: str, api_key: str, headers: dict[str, str]) -> dict[str, str]:
        """Log in."""
        return {"user": user, "access_token": api_key}

    session = Session(verbose=True)
    session.invoke(
        agent(
            asks(call("login", "l", user="u", api_key=keys[0], headers={"Authorization": keys[3]})),
            says(),
            tools=[login],
        ),
        asked(),
        configurable={"api_key": keys[1]},
        metadata={"client_secret": keys[2]},
    )
    nothing_of(session, keys)


def test_paths_that_sound_like_credentials_and_counts_of_tokens_are_kept():
    usage = {
        "input_tokens": 10,
        "output_tokens": 5,
        "total_tokens": 15,
        "input_token_details": {"cache_read": 4},
    }
    answer = AIMessage(content="done", usage_metadata=usage)
    session = record(write("w", "/src/auth.py", "import os\n"), answer)
    lineage = session.lineage()
    assert lineage.versions("/src/auth.py") == {cid_of("import os\n")}
    assert '"cache_read": 4' in lineage.everything()
    assert not any("redacted" in str(cid) for cid in lineage.tool("w").outputs)
