"""What the scripted models say, turn by turn, so that the demo needs no API key and every run is the same run.

One tool call a turn: calls of one message run in parallel, and their order would differ from run to run.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Self

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

NOTES = """\
# Notes: telling lighthouses apart

- By night: the rhythm. Flashing, occulting and isophase lights; the chart prints it, "Fl(3) 15s". (rhythm)
- By day: the daymark, which is the tower's shape and paint, chosen against its background. (daymarks)
- In fog: a sound with a rhythm of its own; good for knowing the station, not for its direction. (fog)
"""

REPORT = """\
# Telling lighthouses apart

By night a sailor timed the light. Each one shines in its own rhythm, printed on the chart.

By day the tower itself was the sign. Its shape and its paint are called the daymark.
"""

IN_FOG = """\

In fog a station was known by its sound, whose rhythm was listed as well. It told which station it was, not where.
"""

SOURCES = """\

Sources: rhythm, daymarks, fog.
"""

ANSWER = (
    "Sailors told lighthouses apart by rhythm at night, by the daymark of the tower in daylight, and by the sound of "
    "the station in fog. The report is in /report.md."
)

_LAST_OF_REPORT = "Its shape and its paint are called the daymark.\n"
_LAST_WITH_FOG = "It told which station it was, not where.\n"

_STEPS = ("Collect notes from the library", "Write the report", "Check the report")


class ScriptedChatModel(GenericFakeChatModel):
    """A chat model that answers with the next message of its script, whatever it is asked."""

    def bind_tools(self, tools: object, **kwargs: object) -> Self:
        """Take note of no tools: the script knows which ones there are."""
        del tools, kwargs
        return self


def librarian() -> ScriptedChatModel:
    """Return the subagent's model."""
    say = _Script("librarian")
    return ScriptedChatModel(
        messages=iter(
            [
                say.call("search_library", query="lighthouse recognised by rhythm at night or tower by day"),
                say.call("search_library", query="fog sound signal"),
                say.call("write_file", file_path="/notes.md", content=NOTES),
                say.text("The notes are in /notes.md: rhythm by night, daymark by day, sound in fog."),
            ]
        )
    )


def researcher() -> ScriptedChatModel:
    """Return the main agent's model."""
    say = _Script("researcher")
    final = REPORT + IN_FOG + SOURCES
    return ScriptedChatModel(
        messages=iter(
            [
                say.call("write_todos", todos=_plan("in_progress", "pending", "pending")),
                say.call(
                    "task",
                    subagent_type="librarian",
                    description="Find out how sailors told one lighthouse from another, by night, by day and in fog. "
                    "Write what you find to /notes.md and name the text each point is from.",
                ),
                say.call("write_todos", todos=_plan("completed", "in_progress", "pending")),
                say.call("read_file", file_path="/notes.md"),
                say.call("read_file", file_path="/skills/report-writing/SKILL.md", limit=1000),
                say.call("write_file", file_path="/report.md", content=REPORT),
                say.call(
                    "edit_file",
                    file_path="/report.md",
                    old_string=_LAST_OF_REPORT,
                    new_string=_LAST_OF_REPORT + IN_FOG,
                ),
                say.call(
                    "edit_file",
                    file_path="/report.md",
                    old_string=_LAST_WITH_FOG,
                    new_string=_LAST_WITH_FOG + SOURCES,
                ),
                say.call("write_todos", todos=_plan("completed", "completed", "in_progress")),
                # meant to vary a word, but it also turns every lighthouse into a "lamphouse"
                say.call("edit_file", file_path="/report.md", old_string="light", new_string="lamp", replace_all=True),
                say.call("read_file", file_path="/report.md"),
                say.call("write_file", file_path="/report.md", content=final),
                say.call("write_todos", todos=_plan("completed", "completed", "completed")),
                say.text(ANSWER),
            ]
        )
    )


class _Script:
    """Makes messages whose call ids are the same in every run."""

    def __init__(self, name: str) -> None:
        self._ids: Iterator[str] = (f"{name}-{number}" for number in itertools.count(1))

    def call(self, tool: str, **arguments: object) -> AIMessage:
        return AIMessage(content="", tool_calls=[{"name": tool, "args": arguments, "id": next(self._ids)}])

    def text(self, content: str) -> AIMessage:
        return AIMessage(content=content)


def _plan(*statuses: str) -> list[dict[str, str]]:
    return [{"content": step, "status": status} for step, status in zip(_STEPS, statuses, strict=True)]
