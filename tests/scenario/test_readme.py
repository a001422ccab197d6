"""The README's code runs, block after block, as a reader would paste it."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

PRELUDE = '''
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult


class Scripted(BaseChatModel):
    """Writes a file when asked, then answers."""

    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, tools, **kwargs):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        if isinstance(messages[-1], ToolMessage):
            answer = AIMessage("Done.")
        else:
            path = "/report.md" if "report" in str(messages[-1].content) else "/notes.md"
            arguments = {"file_path": path, "content": f"{messages[-1].content}\\n"}
            call = {"name": "write_file", "id": f"call-{len(messages)}", "args": arguments}
            answer = AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=answer)])


model = Scripted()
'''


def python_blocks() -> list[str]:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_every_python_block_of_the_readme_runs(tmp_path: Path) -> None:
    blocks = python_blocks()
    script = tmp_path / "readme.py"
    script.write_text("\n\n".join([PRELUDE, *blocks, 'print("BLOCKS", handler.gaps.counts)']), encoding="utf-8")

    run = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "LANGSMITH_TRACING": "false"},
        timeout=300,
        check=False,
    )

    assert run.returncode == 0, run.stderr[-3000:]
    assert len(blocks) > 5
    assert run.stdout.rstrip().endswith("BLOCKS {}"), run.stdout
    assert {path.name for path in (tmp_path / "manifests").iterdir()} == {"report.json", "conversation-7.json"}


def test_the_readme_has_no_code_in_a_language_nobody_runs() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^```(\w+)$", text, re.MULTILINE)) == {"bash", "python"}
