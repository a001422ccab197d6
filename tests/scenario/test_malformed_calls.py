"""Tool calls that a model gave in a form that could not be parsed are in the record."""

from langchain_core.messages import AIMessage
from langchain_core.messages.tool import invalid_tool_call

from support.agents import agent, asks, model, run, says, write


def test_a_call_that_could_not_be_parsed_stands_in_the_response_and_in_the_state():
    broken = invalid_tool_call(name="write_file", args='{"file_path": "/a.md", "content": ', id="x", error="cut off")
    _, lineage = run(agent(model=model(AIMessage("hm", invalid_tool_calls=[broken]))))
    (response,) = [cid for _, answer in lineage.turns() for cid in answer.outputs]
    (message,) = lineage.payload(response)
    (call,) = message["invalid_tool_calls"]
    assert (call["name"], call["args"], call["id"]) == ("write_file", '{"file_path": "/a.md", "content": ', "x")
    (out,) = lineage.one("model", "graph_node").outputs
    assert "cut off" in str(lineage.payload(out))
    assert lineage.paths() == set()


def test_beside_one_that_could_be_both_are_there():
    broken = invalid_tool_call(name="ls", args="{", id="x", error=None)
    good = asks(write("w", "/a.md", "a\n"))
    good.invalid_tool_calls = [broken]
    _, lineage = run(agent(model=model(good, says(), says())))
    response = lineage.turns()[0][1].outputs[0]
    (message,) = lineage.payload(response)
    assert [call["id"] for call in message["tool_calls"]] == ["w"]
    assert [call["id"] for call in message["invalid_tool_calls"]] == ["x"]
