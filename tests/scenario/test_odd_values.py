"""Values that are not JSON: degraded the same way in every process, and the run is recorded."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.sdk import run_in_process

RUN = """
import collections, dataclasses, datetime, decimal, enum, json, pathlib, sys, threading, uuid
from typing import Any, NotRequired

from langchain.agents.middleware import AgentMiddleware, AgentState
from pydantic import BaseModel, model_serializer
from support.sdk import initialise

initialise(pathlib.Path("store").resolve())
from support.agents import Session, agent, asked, says
from support.agents import reasons


class Odd(AgentState[Any]):
    odd: NotRequired[Any]


class Middleware(AgentMiddleware[Any, Any]):
    state_schema = Odd


class Colour(enum.Enum):
    RED = 1


@dataclasses.dataclass
class Point:
    x: int = 1
    tags: frozenset = frozenset({"p", "q", "r"})


class Mute:
    def __str__(self):
        raise ValueError("no words")

    __repr__ = __str__


class MuteModel(BaseModel):
    a: int = 1

    @model_serializer
    def no(self):
        raise ValueError("no")


class Plain:
    pass


circular = ["a"]
circular.append(circular)
ring = {"a": 1}
ring["ring"] = [ring]
deep = "bottom"
for _ in range(300):
    deep = [deep]

VALUES = {
    "circular": circular, "ring": ring, "deep": deep, "mute": Mute(), "mute model": MuteModel(), "nan": float("nan"),
    "infinite": [float("inf"), -float("inf")], "set": {"alpha", "beta", "gamma", "delta"},
    "mixed set": {1, "a", None, (2, 3)}, "frozen": frozenset({"p", "q", "r", "s"}), "lock": threading.Lock(),
    "function": lambda: 1, "named": json.dumps, "method": "x".join, "plain": Plain(), "class": Plain,
    "bytes": b"\\x00\\xff",
    "moment": datetime.datetime(2026, 1, 1), "decimal": decimal.Decimal("1.10"), "enum": Colour.RED, "point": Point(),
    "keys": {(1, 2): "tuple", 3: "number", None: "none", b"b": "bytes"}, "huge": 2**80, "float": 1.0,
    "surrogate": "x\\ud800y", "id": uuid.UUID(int=7), "path": pathlib.Path("/no/such/file"), "error": KeyError("k"),
    "generator": (x for x in [1]), "deque": collections.deque([1, 2]), "module": json, "text": "plain text",
    "not implemented": NotImplemented, "ellipsis": ..., "complex": 1j, "range": range(3),
}
session = Session()
session.invoke(agent(says("answered"), middleware=[Middleware()]), asked(odd=VALUES))
lineage = session.lineage()
graph = lineage.one(kind="graph")
print(json.dumps({
    "state": lineage.text(graph.inputs[0]),
    "cids": sorted(lineage.entities),
    "kinds": sorted(step.kind for step in lineage.steps),
    "reasons": sorted(reasons(session.handler)),
}))
"""


def told(seed: str, folder: Path) -> dict[str, Any]:
    done = run_in_process(RUN, folder=folder, environment={"PYTHONHASHSEED": seed})
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return told("1", tmp_path_factory.mktemp("one"))


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return told("2", tmp_path_factory.mktemp("other"))


def odd(result: dict[str, Any]) -> dict[str, Any]:
    def refuse(token: str) -> None:
        raise AssertionError(token)

    payload: dict[str, Any] = json.loads(result["state"], parse_constant=refuse)["odd"]
    return payload


def test_a_run_with_odd_values_is_recorded_whole(one: dict[str, Any]):
    assert one["kinds"].count("graph") == 1
    assert {"chat_model", "graph_node"} <= set(one["kinds"])
    assert one["reasons"] == []


def test_every_value_is_the_same_in_two_processes(one: dict[str, Any], other: dict[str, Any]):
    assert odd(one) == odd(other)
    assert one["cids"] == other["cids"]


def test_no_value_says_where_in_memory_it_was(one: dict[str, Any]):
    assert "0x" not in one["state"]


def test_values_keep_what_json_can_hold(one: dict[str, Any]):
    values = odd(one)
    assert values["text"] == "plain text"
    assert values["set"] == ["alpha", "beta", "delta", "gamma"]
    assert values["point"] == {"x": 1, "tags": ["p", "q", "r"]}
    assert values["nan"] == "nan"
    assert values["circular"][0] == "a"
    assert values["deque"] == [1, 2]
    assert values["huge"] == 2**80
    assert "Mute" in values["mute"]
