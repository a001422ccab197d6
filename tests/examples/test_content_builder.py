"""content-builder-agent: a writer on a folder with a researcher and image tools, and what its manifest says of them."""

import asyncio
import json
import struct
import zlib
from pathlib import Path
from typing import Any, Literal

import pytest
from deepagents import create_deep_agent
from deepagents.backends import FilesystemBackend
from langchain_core.tools import tool

from eqty_lineage.deepagents import EqtyDeepAgentsHandler
from support.agents import asks, call, read, says, script, task, write
from support.examples import SharedModel, Twice, asked_in, attached, given, prompts, returned, twice
from support.lineage import Lineage
from support.sdk import cid_of

TOPIC = "Write about the tides."
ERRAND = "Find out about tides and save it to research/tides.md."
VOICE = "# Voice\n\nShort sentences.\n"
FOUND = "The moon pulls the sea twice a day."
NOTES = f"- {FOUND}\n"
POST = "# Tides\n\nTwice a day the moon pulls the sea.\n"
SHORT = "The moon pulls.\n"


def png(shade: int) -> bytes:
    """A picture of one pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    size = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    pixel = zlib.compress(bytes([0, shade]))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", size) + chunk(b"IDAT", pixel) + chunk(b"IEND", b"")


COVER, CARD = png(1), png(2)


@tool
def web_search(query: str, max_results: int = 5, topic: Literal["general", "news"] = "general") -> dict[str, Any]:
    """Search the web."""
    return {"query": query, "results": [{"title": "Tides", "url": "https://tides.example", "content": FOUND}]}


def image_tools(folder: Path) -> list[Any]:
    def save(image: bytes, *where: str) -> str:
        path = folder.joinpath(*where)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(image)
        return f"Image saved to {path}"

    @tool
    def generate_cover(prompt: str, slug: str) -> str:
        """Make a picture for a post."""
        return save(COVER, "blogs", slug, "hero.png")

    @tool
    def generate_social_image(prompt: str, platform: str, slug: str) -> str:
        """Make a picture for a network."""
        return save(CARD, platform, slug, "image.png")

    return [generate_cover, generate_social_image]


def prepare(folder: Path) -> None:
    (folder / "AGENTS.md").write_text(VOICE)
    for name in ("blog-post", "social-media"):
        (folder / "skills" / name).mkdir(parents=True)
        (folder / "skills" / name / "SKILL.md").write_text(
            f"---\nname: {name}\ndescription: A {name}\n---\nBe brief.\n"
        )


async def main(folder: Path, handler: EqtyDeepAgentsHandler | None) -> Any:
    writer = SharedModel(
        scripts={
            TOPIC: script(
                task("research", "researcher", ERRAND),
                read("notes", "research/tides.md"),
                read("skill", "/skills/blog-post/SKILL.md"),
                asks(
                    write("post", "/blogs/tides/post.md", POST),
                    call("generate_cover", "cover", prompt="The moon over the sea", slug="tides"),
                ),
                asks(
                    write("short", "/linkedin/tides/post.md", SHORT),
                    call("generate_social_image", "card", prompt="A wave", platform="linkedin", slug="tides"),
                ),
                read("look", "/linkedin/tides/image.png"),
                says("Both are written."),
            )
        }
    )
    searcher = SharedModel(
        model_name="small",
        scripts={
            ERRAND: script(
                call("web_search", "search", query="tides"),
                write("save", "research/tides.md", NOTES),
                says("Saved to research/tides.md."),
            )
        },
    )
    researcher = {
        "name": "researcher",
        "description": "Searches the web.",
        "system_prompt": "Search, then save.",
        "model": searcher,
        "tools": [web_search],
    }
    agent = create_deep_agent(
        model=writer,
        memory=["./AGENTS.md"],
        skills=["./skills/"],
        tools=image_tools(folder),
        subagents=[researcher],
        backend=FilesystemBackend(root_dir=folder),
    )
    last: Any = None
    async for chunk in agent.astream(
        {"messages": [("user", TOPIC)]},
        config=attached(handler, configurable={"thread_id": "content-writer-demo"}),
        stream_mode="values",
    ):
        last = chunk
    if handler is not None:
        handler.context.export("manifests/content-writer.json")
    return last


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Twice:
    folder = tmp_path_factory.mktemp("content") / "example"
    return twice(folder, prepare, lambda *arguments: asyncio.run(main(*arguments)))


@pytest.fixture(scope="module")
def lineage(ran: Twice) -> Lineage:
    return ran.lineage("manifests/content-writer.json")


def test_the_stream_ends_as_it_does_without_the_handler(ran: Twice):
    assert ran.recorded == ran.plain
    assert ran.result["messages"][-1].text == "Both are written."


def test_the_researcher_has_a_lane_of_its_own_with_its_searches(lineage: Lineage):
    (lane,) = {step.fields["lane"] for step in lineage.all(agent="researcher")}
    assert lane
    assert {step.fields["lane"] for step in lineage.steps} == {"", lane}
    assert [(step.name, step.fields["agent"]) for step in lineage.all(kind="tool", lane=lane)] == [
        ("web_search", "researcher"),
        ("write_file", "researcher"),
    ]
    assert given(lineage, "search")["query"] == "tides"
    assert FOUND in json.dumps(returned(lineage, "search"))
    assert all(ERRAND in prompt for prompt in prompts(lineage, "researcher"))
    assert {lineage.described(cid)["name"] for cid in lineage.assets("Model")} == {"shared", "small"}


def test_notes_and_posts_are_exact_versions_with_the_turn_that_asked_for_each(lineage: Lineage, ran: Twice):
    for call_id, path, text, who in (
        ("save", "/research/tides.md", NOTES, "researcher"),
        ("post", "/blogs/tides/post.md", POST, "LangGraph"),
        ("short", "/linkedin/tides/post.md", SHORT, "LangGraph"),
    ):
        assert (ran.folder / path[1:]).read_text() == text
        assert lineage.versions(path) == {cid_of(text)}
        assert lineage.tool(call_id).files("wrote") == {path: cid_of(text)}
        turn, asked = asked_in(lineage, call_id)
        assert (turn.fields["agent"], asked["args"]["content"]) == (who, text)


def test_the_writer_reads_the_version_that_the_researcher_wrote(lineage: Lineage):
    assert lineage.tool("notes").files("read") == {"/research/tides.md": cid_of(NOTES)}
    assert lineage.tool("notes").version("read", "/research/tides.md") == 1
    assert not lineage.renderings("/research/tides.md")
    assert set(lineage.tool("search").outputs) <= lineage.ancestors(cid_of(POST))


def test_skills_and_memory_are_what_the_writer_had_and_the_researcher_had_not(lineage: Lineage):
    skills = {lineage.described(cid)["name"]: cid for cid in lineage.assets("Skill")}
    assert set(skills) == {"blog-post", "social-media"}
    had = {*skills.values(), cid_of(VOICE)}
    assert all(had <= set(request.inputs) for request, _ in lineage.turns("LangGraph"))
    assert not any(had & set(request.inputs) for request, _ in lineage.turns("researcher"))


def test_a_picture_is_a_prompt_and_a_path_until_it_is_opened(lineage: Lineage, ran: Twice):
    assert given(lineage, "cover") == {"prompt": "The moon over the sea", "slug": "tides"}
    hero = ran.folder / "blogs" / "tides" / "hero.png"
    assert hero.read_bytes() == COVER
    assert f"Image saved to {hero}" in json.dumps(returned(lineage, "cover"))
    assert cid_of(COVER) not in lineage.blobs
    assert not [path for path in lineage.paths() if "hero" in path]
    assert lineage.versions("/linkedin/tides/image.png") == {cid_of(CARD)}
    assert lineage.producers(cid_of(CARD)) == []
    assert lineage.described(cid_of(CARD))["assetType"] == "Media"
    (use,) = lineage.tool("look").fields["files"]
    assert (use["role"], use["evidence"]) == ("read", "bytes")


def test_nothing_else_is_a_file_and_there_is_no_plan(lineage: Lineage):
    assert lineage.paths() == {
        "./AGENTS.md",
        "/skills/blog-post/SKILL.md",
        "/research/tides.md",
        "/blogs/tides/post.md",
        "/linkedin/tides/post.md",
        "/linkedin/tides/image.png",
    }
    assert lineage.plans() == {}
    assert lineage.gaps() == []
