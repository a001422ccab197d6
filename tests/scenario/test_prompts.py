"""System prompts: what each turn's model was told, as one asset for each distinct prompt."""

from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.prompts import ChatPromptTemplate

from support.agents import Session, agent, model, run, says, subagent, task, write
from support.lineage import Lineage


def prompts(lineage: Lineage) -> dict[str, Any]:
    return {cid: lineage.blobs[cid].decode() for cid in lineage.assets("System_Prompt")}


def test_a_turns_system_prompt_is_an_input_of_its_request():
    _, lineage = run(agent(write("w", "/a.md", "a\n"), system_prompt="You are the one."))
    (cid,) = prompts(lineage)
    assert "You are the one." in lineage.text(cid)
    requests = lineage.all(kind="chat_request")
    assert len(requests) == 2
    assert all(cid in request.inputs for request in requests)
    assert lineage.described(cid)["name"] == "ScriptedModel: system prompt"
    assert {step.kind for step in lineage.steps if cid in step.inputs} == {"chat_request"}


def test_a_prompt_of_blocks_keeps_its_blocks():
    blocks = [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]
    _, lineage = run(agent(says(), system_prompt=SystemMessage(content=blocks)))
    (cid,) = prompts(lineage)
    assert blocks[0] in lineage.payload(cid)


def test_a_subagents_prompt_is_an_input_of_its_own_turns_only():
    _, lineage = run(agent(task("t", "helper"), subagents=[subagent("helper", says("helped"))]))
    (helpers,) = [cid for cid, text in prompts(lineage).items() if "You are helper." in text]
    assert {step.fields["agent"] for step in lineage.steps if helpers in step.inputs} == {"helper"}


def test_a_text_prompt_is_its_text_and_later_system_messages_count():
    session = Session()
    session.invoke(model(says("1")), [SystemMessage("First."), HumanMessage("go"), SystemMessage("Then.")])
    session.invoke(model(says("2")), [SystemMessage("Only."), HumanMessage("go")])
    lineage = session.lineage(conversations=2)
    assert set(prompts(lineage).values()) == {'["First.", "Then."]', "Only."}


def test_a_turn_without_a_system_prompt_has_none():
    session = Session()
    session.invoke(model(says("1")), [HumanMessage("go")])
    session.invoke(model(says("2")), [SystemMessage(""), HumanMessage("go")])
    lineage = session.lineage(conversations=2)
    assert not prompts(lineage)
    assert len(lineage.all(kind="chat_request")) == 2


def test_a_prompt_that_changes_is_another_asset():
    class Counting(AgentMiddleware[Any, Any]):
        turns = 0

        def wrap_model_call(self, request: ModelRequest[Any], handler: Any) -> Any:
            self.turns += 1
            return handler(request.override(system_message=SystemMessage(f"This is turn {self.turns}.")))

    _, lineage = run(agent(write("w", "/a.md", "a\n"), middleware=[Counting()]))
    first, second = lineage.all(kind="chat_request")
    by_text = {text.split(".")[0]: cid for cid, text in prompts(lineage).items()}
    assert len(by_text) == 2
    told = [{text for cid, text in prompts(lineage).items() if cid in step.inputs} for step in (first, second)]
    assert ["turn 1" in "".join(told[0]), "turn 2" in "".join(told[1])] == [True, True]


def test_credential_fields_of_a_prompt_are_redacted():
    blocks = [{"type": "text", "text": "Call the service.", "extras": {"api_key": "sk-planted"}}]
    session = Session()
    session.invoke(model(says("1")), [SystemMessage(content=blocks), HumanMessage("go")])
    (cid,) = prompts(session.lineage())
    assert session.lineage().payload(cid)[0]["extras"] == {"api_key": "[redacted]"}


def test_a_model_in_a_chain_without_an_agent_is_recorded_too():
    chain = ChatPromptTemplate([("system", "Be {how}."), ("human", "{what}")]) | model(says("ok"))
    session = Session()
    session.invoke(chain, {"how": "kind", "what": "go"})
    lineage = session.lineage()
    (cid,) = prompts(lineage)
    assert lineage.text(cid) == "Be kind."
    assert cid in lineage.one(kind="chat_request").inputs
    assert not lineage.assets("Agent")
