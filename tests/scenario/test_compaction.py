"""A turn that compacted says so, and the summary and the history hang on it."""

from pathlib import Path
from typing import Any

import pytest
from deepagents import create_deep_agent
from deepagents.backends.filesystem import FilesystemBackend
from deepagents.backends.state import StateBackend
from deepagents.middleware.summarization import SummarizationMiddleware, SummarizationToolMiddleware
from langchain.tools import ToolRuntime
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError
from langgraph.types import Command

from support.agents import Session, asked, asks, call, file_data, model, read, reasons, run, says, write
from support.lineage import Lineage, Step
from support.sdk import cid_of


def compacting(backend: Any, *, turns: int = 5, trigger: int = 8, **options: Any) -> Any:
    """An agent that writes a file a turn, and whose talk is summed up when it has eight messages."""
    chat = model(
        *(
            asks(write(f"w{number}", f"/f{number}", f"file {number}\n"), text=f"Step {number}.")
            for number in range(turns)
        ),
        *(says(f"The sum of it all {number}, and an answer.") for number in range(6)),
    )
    middleware = SummarizationMiddleware(
        model=chat, backend=backend, trigger=("messages", trigger), keep=("messages", 2)
    )
    return create_deep_agent(model=chat, name="r", backend=backend, middleware=[middleware], **options)


def compacted(lineage: Lineage) -> list[Step]:
    return [step for step in lineage.steps if "compaction" in step.fields]


@pytest.fixture(params=["state", "disk"])
def recorded(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Any, Lineage, str, Path]:
    where = request.param
    backend = StateBackend() if where == "state" else FilesystemBackend(tmp_path, virtual_mode=True)
    session, lineage = run(compacting(backend))
    return session, lineage, where, tmp_path


def test_the_turn_that_compacted_says_how_much_the_model_no_longer_sees(recorded: Any):
    _, lineage, _, _ = recorded
    (step,) = compacted(lineage)
    assert (step.name, step.kind) == ("model", "graph_node")
    # one question, three calls and their results; the last two are kept
    said = {key: step.fields[key] for key in ("compaction", "cutoff", "messages_dropped", "messages_kept")}
    assert said["compaction"] == "lossy"
    assert said["cutoff"] == said["messages_dropped"]
    (state,) = [cid for cid in step.inputs if any("input state" in one["name"] for one in lineage.metadata[cid])]
    assert said["messages_dropped"] + said["messages_kept"] == len(lineage.payload(state)["messages"])


def test_the_history_is_an_output_of_that_turn(recorded: Any):
    session, lineage, where, folder = recorded
    (step,) = compacted(lineage)
    (use,) = [use for use in step.fields["files"] if use["role"] == "wrote"]
    assert use["cid"] in step.outputs
    assert use["path"].startswith("/conversation_history/")
    if where == "state":
        assert use["cid"] == cid_of(session.answer["files"][use["path"]]["content"].encode())
        assert (use["version"], use["evidence"]) == (1, "state")
        assert lineage.producers(use["cid"]) == ["model"]
    else:
        assert (folder / use["path"][1:]).exists()
        assert use["evidence"] == "rendering"
        assert lineage.versions(use["path"]) == set()
        assert lineage.described(use["cid"])["file_path"] == use["path"]


def test_the_answer_of_the_summary_call_is_an_input_of_every_turn_that_was_shown_it(recorded: Any):
    _, lineage, _, _ = recorded
    (step,) = compacted(lineage)
    calls = [one for one in lineage.all(kind="chat_model") if one.fields["parent_run_id"] == step.fields["run_id"]]
    summary, turn = calls
    request = next(one for one in lineage.all(kind="chat_request") if one.fields["run_id"] == turn.fields["run_id"])
    (answer,) = summary.outputs
    assert answer in request.inputs
    earlier = [one for one in lineage.all(kind="chat_request") if one.fields["sequence"] < request.fields["sequence"]]
    assert not any(answer in one.inputs for one in earlier)


def test_statements_are_recorded_in_the_order_of_their_numbers(recorded: Any):
    _, lineage, _, _ = recorded
    numbers = [step.fields["sequence"] for step in lineage.steps]
    assert numbers == sorted(set(numbers))


def test_a_second_compaction_counts_what_it_dropped_itself(tmp_path: Path):
    _, lineage = run(compacting(StateBackend(), turns=12, trigger=6))
    steps = compacted(lineage)
    assert len(steps) > 1
    cutoffs = [step.fields["cutoff"] for step in steps]
    dropped = [step.fields["messages_dropped"] for step in steps]
    assert dropped == [after - before for before, after in zip([0, *cutoffs], cutoffs, strict=False)]
    (path,) = {use["path"] for step in steps for use in step.fields["files"] if use["role"] == "wrote"}
    versions = [step.version("wrote", path) for step in steps]
    assert versions == list(range(1, len(steps) + 1))
    assert [step.version("replaced", path) for step in steps[1:]] == versions[:-1]


def test_without_a_compaction_nothing_says_so():
    _, lineage = run(compacting(StateBackend(), turns=2))
    assert compacted(lineage) == []


@pytest.mark.parametrize("where", ["state", "disk"])
def test_the_tool_that_compacts_says_so_too(tmp_path: Path, where: str):
    backend = StateBackend() if where == "state" else FilesystemBackend(tmp_path, virtual_mode=True)
    chat = model(
        *(asks(write(f"w{number}", f"/f{number}", f"file {number}\n")) for number in range(4)),
        asks(call("compact_conversation", "c")),
        says("The sum of it all."),
        says("done"),
    )
    summing = SummarizationMiddleware(model=chat, backend=backend, trigger=("messages", 16), keep=("messages", 2))
    runnable = create_deep_agent(
        model=chat, name="r", backend=backend, middleware=[summing, SummarizationToolMiddleware(summing)]
    )
    session, lineage = run(runnable)
    assert "Summarized" in session.results()["c"].text
    (step,) = compacted(lineage)
    assert (step.kind, step.fields["tool_call_id"]) == ("tool", "c")
    dropped = int("".join(filter(str.isdigit, session.results()["c"].text.partition("messages")[0])))
    assert step.fields["messages_dropped"] == dropped
    # the question, four calls with their results, and the message that asked for this
    assert step.fields["messages_kept"] == 10 - dropped
    (path,) = {use["path"] for use in step.fields["files"] if use["role"] == "wrote"}
    assert path.startswith("/conversation_history/")
    last = lineage.turns("r")[-1][0]
    (summary,) = [one for one in lineage.all(kind="chat_model") if one.fields["parent_run_id"] == step.fields["run_id"]]
    assert set(summary.outputs) <= set(last.inputs)


def test_a_history_can_be_read_back(tmp_path: Path):
    backend = FilesystemBackend(tmp_path, virtual_mode=True)
    chat = model(
        *(asks(write(f"w{number}", f"/f{number}", f"file {number}\n")) for number in range(5)),
        says("The sum of it all."),
        says("unused"),
    )
    middleware = SummarizationMiddleware(model=chat, backend=backend, trigger=("messages", 8), keep=("messages", 2))
    runnable = create_deep_agent(model=chat, name="r", backend=backend, middleware=[middleware])
    session, _ = run(runnable)
    (found,) = tmp_path.glob("conversation_history/*.md")
    path = f"/conversation_history/{found.name}"
    runnable = create_deep_agent(model=model(asks(read("r", path)), says()), name="r", backend=backend)
    session.invoke(runnable)
    lineage = session.lineage()
    (step,) = compacted(lineage)
    (use,) = [use for use in step.fields["files"] if use["role"] == "wrote"]
    assert use["cid"] in lineage.tool("r").inputs


@pytest.mark.parametrize("limit", range(8, 15))
def test_a_run_that_ends_before_the_next_state_makes_no_history_of_the_one_before(limit: int):
    session = Session()
    with pytest.raises(GraphRecursionError):
        session.invoke(compacting(StateBackend(), turns=12, trigger=4), recursion_limit=limit)
    lineage = session.lineage()
    assert compacted(lineage)
    for step in compacted(lineage):
        for use in step.fields["files"]:
            earlier = [one for one in lineage.steps if one.fields["ended_at"] < step.fields["ended_at"]]
            assert "version" not in use or not any(use["cid"] in one.inputs for one in earlier)


def test_after_a_second_compaction_every_turn_is_whole():
    session, lineage = run(compacting(StateBackend(), turns=12, trigger=6, system_prompt="Work."))
    assert len(compacted(lineage)) > 1
    assert not reasons(session.handler)
    for request, _ in lineage.turns():
        if "purpose" not in request.fields:
            assert [cid for cid in request.inputs if lineage.metadata[cid][0]["assetType"] == "System_Prompt"]


def test_a_summary_that_repeats_an_earlier_one_is_the_one_that_is_shown():
    texts = ["Files were written.", "Files were written. More files were written too."]
    chat = model(
        *(asks(write(f"w{turn}", f"/f{turn}", f"{turn}\n"), text=f"Step {turn}.") for turn in range(8)), says()
    )
    summing = model(*map(says, texts), says("unused"))
    backend = StateBackend()
    middleware = SummarizationMiddleware(model=summing, backend=backend, trigger=("messages", 8), keep=("messages", 2))
    _, lineage = run(create_deep_agent(model=chat, name="r", backend=backend, middleware=[middleware]))
    answers = {
        lineage.payload(cid)[0]["content"]: cid
        for step in lineage.all(kind="chat_model", purpose="summarization")
        for cid in step.outputs
    }
    assert list(answers) == texts
    last = [request for request, _ in lineage.turns() if "purpose" not in request.fields][-1]
    assert answers[texts[1]] in last.inputs
    assert answers[texts[0]] not in last.inputs


def test_the_turns_of_the_next_run_are_shown_it_too():
    session, saver = Session(), InMemorySaver()
    runnable = compacting(StateBackend(), checkpointer=saver)
    session.invoke(runnable, thread="t")
    session.invoke(runnable, asked("and now?"), thread="t")
    lineage = session.lineage(thread="t")
    (summary,) = [cid for step in lineage.all(kind="chat_model", purpose="summarization") for cid in step.outputs]
    assert summary in lineage.turns()[-1][0].inputs


def test_a_model_that_sums_up_was_not_given_the_memory():
    files = {"/AGENTS.md": file_data("Be brief.\n")}
    _, lineage = run(compacting(StateBackend(), memory=["/AGENTS.md"]), asked(files=files))
    given = {
        request.fields.get("purpose", "turn"): cid_of(b"Be brief.\n") in request.inputs
        for request, _ in lineage.turns()
    }
    assert given == {"turn": True, "summarization": False}


def test_a_tool_that_gives_back_the_state_has_not_compacted():
    @tool
    def touch(runtime: ToolRuntime) -> Command[Any]:
        """Give back the state there is."""
        state = {key: value for key, value in runtime.state.items() if key != "messages"}
        return Command(update={**state, "messages": [ToolMessage("ok", tool_call_id=runtime.tool_call_id)]})

    chat = model(
        *(asks(write(f"w{turn}", f"/f{turn}", f"{turn}\n"), text=f"Step {turn}.") for turn in range(5)),
        asks(call("touch", "t")),
        says(),
    )
    backend = StateBackend()
    middleware = SummarizationMiddleware(
        model=model(says("SUM"), says("unused")), backend=backend, trigger=("messages", 8), keep=("messages", 2)
    )
    runnable = create_deep_agent(model=chat, name="r", backend=backend, middleware=[middleware], tools=[touch])
    _, lineage = run(runnable)
    assert [step.name for step in compacted(lineage)] == ["model"]
