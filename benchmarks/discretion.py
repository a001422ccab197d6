"""What redaction and a content policy cost a callback whose payload is 100 KB: milliseconds, the best of several.

The forms are those a run carries: a text in a tool call, a message, a result of many rows, JSON text; with the default
policy, before and after files were withheld whose lines are looked for from then on.
"""

from __future__ import annotations

import json
import random
import string
import time
from typing import Any

from eqty_lineage.deepagents.discretion.globs import Policy
from eqty_lineage.deepagents.discretion.memory import Memory
from eqty_lineage.deepagents.discretion.walk import Discretion
from eqty_lineage.deepagents.recording import sdk

KNOWN = {"nothing withheld": 0, "an .env of 10 lines": 10, "keys of 300 lines": 300}
TARGET = 1.0
"""Milliseconds."""


def payloads() -> dict[str, Any]:
    """Return payloads of 100 KB."""
    chance = random.Random(1)  # noqa: S311 - text to be searched
    lines = ["".join(chance.choices(string.ascii_letters + "     ", k=60)) for _ in range(1_640)]
    text = "\n".join(lines)
    call = {"name": "write_file", "id": "c1", "type": "tool_call", "args": {"file_path": "/a.md", "content": text}}
    rows = [
        {"id": number, "name": f"row {number}", "at": f"/a/{number}.txt", "value": "x" * 50} for number in range(900)
    ]
    return {
        "a tool's arguments": {"file_path": "/a.md", "content": text},
        "a message that asks for a call": {"role": "ai", "content": "", "tool_calls": [call]},
        "a result of lines": {"role": "tool", "content": text, "tool_call_id": "c2"},
        "a result of 900 rows": {"rows": rows},
        "JSON text": {"role": "tool", "content": json.dumps(rows), "tool_call_id": "c3"},
    }


def best(discretion: Discretion, payload: Any, rounds: int = 40) -> float:
    """Return the milliseconds of the quickest of several refinements."""
    spent = []
    for _ in range(rounds):
        began = time.perf_counter()
        discretion.refine(payload)
        spent.append(time.perf_counter() - began)
    return min(spent) * 1e3


def measured() -> dict[tuple[str, str], float]:
    """Return what each payload costs, in milliseconds, by what is known and by form."""
    figures = {}
    for known, count in KNOWN.items():
        memory = Memory(Policy(), sdk.cid_of)
        for number in range(count):
            memory.lines.learn(f"API_KEY_{number}=sk-{number:048x}")
        for form, payload in payloads().items():
            figures[known, form] = best(Discretion(memory), payload)
    return figures


def main() -> None:
    """Print a table."""
    figures = measured()
    print(f"{'':<34}" + "".join(f"{known:>22}" for known in KNOWN))
    for form in payloads():
        print(f"{form:<34}" + "".join(f"{figures[known, form]:>19.3f} ms" for known in KNOWN))
    worst = max(figures.values())
    print(f"\nworst: {worst:.2f} ms, must be <= {TARGET} ms{'' if worst <= TARGET else '   MISSED'}")


if __name__ == "__main__":
    main()
