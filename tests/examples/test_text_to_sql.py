"""text-to-sql-agent: an agent on a folder that asks a database, and what its manifest says of that."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from deepagents import create_deep_agent
from deepagents.backends import FilesystemBackend
from langchain_core.callbacks import CallbackManagerForToolRun
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import PromptTemplate
from langchain_core.tools import BaseTool

from eqty_lineage.deepagents import EqtyDeepAgentsHandler
from support.agents import asks, call, read, says, script, task, write
from support.examples import SharedModel, Twice, agents, asked_in, attached, given, prompts, returned, twice
from support.lineage import Lineage
from support.sdk import cid_of

QUESTION = "Which artist has most albums?"
HABITS = "# Habits\n\nOnly ever read from the database.\n"
EXPLORE = "---\nname: schema-exploration\ndescription: Find tables\n---\nList the tables, then look at each.\n"
WRITING = "---\nname: query-writing\ndescription: Write queries\n---\nCheck a query, then run it.\n"
ERRAND = "Say which tables matter."
WRONG = "SELECT artist FROM albums"
RIGHT = "SELECT name, COUNT(*) FROM artists JOIN albums USING (artist_id) GROUP BY name ORDER BY 2 DESC LIMIT 1"
REPORT = "# Albums\n\nAda has two.\n"


class Sql(BaseTool):
    """A tool of the kit: what goes wrong is text, as it is there."""

    database: Path
    description: str = "Ask the database."

    def ask(self, statement: str, *values: str) -> str:
        try:
            with closing(sqlite3.connect(self.database)) as connection:
                return str(connection.execute(statement, values).fetchall())
        except sqlite3.Error as error:
            return f"Error: {error}\nStatement: {statement}"


class ListTables(Sql):
    name: str = "sql_db_list_tables"

    def _run(self, tool_input: str = "") -> str:
        return self.ask("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")


class Schema(Sql):
    name: str = "sql_db_schema"

    def _run(self, table_names: str) -> str:
        return "".join(self.ask("SELECT sql FROM sqlite_master WHERE name = ?", one) for one in table_names.split(", "))


class Query(Sql):
    name: str = "sql_db_query"

    def _run(self, query: str) -> str:
        return self.ask(query)


class Checker(Sql):
    name: str = "sql_db_query_checker"
    llm: Any

    def _run(self, query: str, run_manager: CallbackManagerForToolRun | None = None) -> str:
        chain = PromptTemplate.from_template("Mend this statement: {query}") | self.llm | StrOutputParser()
        callbacks = run_manager.get_child() if run_manager else None
        return str(chain.invoke({"query": query}, config={"callbacks": callbacks}))


def prepare(folder: Path) -> None:
    (folder / "AGENTS.md").write_text(HABITS)
    for name, text in (("schema-exploration", EXPLORE), ("query-writing", WRITING)):
        (folder / "skills" / name).mkdir(parents=True)
        (folder / "skills" / name / "SKILL.md").write_text(text)
    with closing(sqlite3.connect(folder / "music.db")) as connection:
        connection.executescript(
            "CREATE TABLE artists (artist_id INTEGER, name TEXT);"
            "CREATE TABLE albums (title TEXT, artist_id INTEGER);"
            "INSERT INTO artists VALUES (1, 'Ada'), (2, 'Bob');"
            "INSERT INTO albums VALUES ('One', 1), ('Two', 1), ('Three', 2);"
        )


def main(folder: Path, handler: EqtyDeepAgentsHandler | None) -> Any:
    turns = [
        call("sql_db_list_tables", "list", tool_input=""),
        read("skill", "/skills/query-writing/SKILL.md"),
        task("ask", "general-purpose", ERRAND),
        call("sql_db_schema", "schema", table_names="albums, artists"),
        call("sql_db_query", "wrong", query=WRONG),
        call("sql_db_query_checker", "check", query=WRONG),
        call("sql_db_query", "right", query=RIGHT),
        asks(write("report", "/report.md", REPORT), text="Ada it is."),
        says("Ada, with two."),
    ]
    model = SharedModel(
        scripts={"Mend this statement": [says(RIGHT)], ERRAND: [says("Both.")], QUESTION: script(*turns)}
    )
    database = folder / "music.db"
    agent = create_deep_agent(
        model=model,
        memory=["./AGENTS.md"],
        skills=["./skills/"],
        tools=[
            *(kind(database=database) for kind in (Query, Schema, ListTables)),
            Checker(database=database, llm=model),
        ],
        subagents=[],
        backend=FilesystemBackend(root_dir=folder),
    )
    result = agent.invoke({"messages": [{"role": "user", "content": QUESTION}]}, config=attached(handler))
    if handler is not None:
        handler.context.export("manifests/text-to-sql.json")
    return result


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Twice:
    return twice(tmp_path_factory.mktemp("sql") / "example", prepare, main)


@pytest.fixture(scope="module")
def lineage(ran: Twice) -> Lineage:
    return ran.lineage("manifests/text-to-sql.json")


def test_the_run_ends_as_it_does_without_the_handler(ran: Twice):
    assert ran.recorded == ran.plain
    assert ran.result["messages"][-1].text == "Ada, with two."


def test_the_question_and_the_habits_stand_in_the_prompt_of_every_turn(lineage: Lineage):
    shown = prompts(lineage, "LangGraph")
    assert [QUESTION in prompt for prompt in shown].count(False) == 1  # the checker's
    (system,) = [cid for cid in lineage.assets("System_Prompt") if "Only ever read" in lineage.text(cid)]
    assert lineage.versions("./AGENTS.md") == {cid_of(HABITS)}
    given_both = [
        request for request, _ in lineage.turns("LangGraph") if {system, cid_of(HABITS)} <= set(request.inputs)
    ]
    assert len(given_both) == len(shown) - 1


def test_both_skills_are_assets_of_every_turn_and_the_file_of_one_is_a_rendering(lineage: Lineage):
    skills = {lineage.described(cid)["name"]: cid for cid in lineage.assets("Skill")}
    assert set(skills) == {"query-writing", "schema-exploration"}
    assert all(set(skills.values()) <= set(node.inputs) for node in lineage.all("model", "graph_node", lane=""))
    (rendering,) = lineage.renderings("/skills/query-writing/SKILL.md")
    assert lineage.tool("skill").files("read") == {"/skills/query-writing/SKILL.md": rendering}
    assert "Check a query, then run it." in lineage.text(rendering)
    assert not lineage.versions("/skills/query-writing/SKILL.md")


def test_each_call_has_its_statement_and_the_rows_it_returned(lineage: Lineage):
    assert [step.name for step in lineage.all(kind="tool") if step.name.startswith("sql_")] == [
        "sql_db_list_tables",
        "sql_db_schema",
        "sql_db_query",
        "sql_db_query_checker",
        "sql_db_query",
    ]
    assert given(lineage, "right") == {"query": RIGHT}
    assert "[('Ada', 2)]" in str(returned(lineage, "right"))
    assert given(lineage, "schema") == {"table_names": "albums, artists"}
    assert "CREATE TABLE albums" in str(returned(lineage, "schema"))
    for call_id in ("list", "schema", "wrong", "check", "right"):
        assert given(lineage, call_id) == asked_in(lineage, call_id)[1]["args"]


def test_a_statement_that_fails_is_reported_as_text_so_its_call_is_ok(lineage: Lineage):
    wrong = lineage.tool("wrong")
    assert wrong.fields["status"] == "ok"
    assert "Error: no such column: artist" in str(returned(lineage, "wrong"))


def test_the_turn_in_which_a_statement_is_checked_stands_below_the_call(lineage: Lineage):
    check = lineage.tool("check")
    (inside,) = [pair for pair in lineage.turns() if pair[0].fields["parent_run_id"] == check.fields["run_id"]]
    (prompt,) = [cid for cid in inside[0].inputs if cid in lineage.assets("Prompt")]
    assert f"Mend this statement: {WRONG}" in str(lineage.payload(prompt))
    assert RIGHT in str(returned(lineage, "check"))


def test_the_database_is_no_asset(lineage: Lineage, ran: Twice):
    assert "music.db" not in str(lineage.paths())
    assert cid_of((ran.folder / "music.db").read_bytes()) not in lineage.blobs
    assert not any(blob.startswith(b"SQLite format 3") for blob in lineage.blobs.values())


def test_what_the_agent_wrote_is_exact_and_comes_from_the_rows_and_the_question(lineage: Lineage, ran: Twice):
    assert (ran.folder / "report.md").read_text() == REPORT
    wrote = lineage.tool("report")
    assert wrote.files("wrote") == {"/report.md": cid_of(REPORT)}
    assert [use["evidence"] for use in wrote.fields["files"]] == ["arguments"]
    behind = lineage.ancestors(cid_of(REPORT))
    assert set(lineage.tool("right").outputs) & behind
    assert any(QUESTION in str(lineage.payload(cid)) for cid in behind & set(lineage.assets("Dataset")))


def test_a_subagent_is_there_although_none_was_given(lineage: Lineage):
    assert agents(lineage) == {"LangGraph", "general-purpose"}
    assert "Both." in str(returned(lineage, "ask"))


def test_nothing_else_is_a_file_and_there_is_no_plan(lineage: Lineage):
    assert lineage.paths() == {"./AGENTS.md", "/skills/query-writing/SKILL.md", "/report.md"}
    assert lineage.plans() == {}
    assert lineage.gaps() == []
