"""DeepAgents' own file tools, over its own backends, driven one call at a time."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from deepagents.backends import FilesystemBackend, StateBackend
from deepagents.backends.protocol import BackendProtocol
from deepagents.middleware.filesystem import FilesystemMiddleware, _file_data_delta_reducer
from langchain_core.runnables.config import var_child_runnable_config
from langgraph._internal._constants import CONFIG_KEY_READ, CONFIG_KEY_SEND

from eqty_lineage.deepagents.filesystem import reconstruction
from eqty_lineage.deepagents.filesystem.reconstruction import FileCall, Outcome

Files = dict[str, Any]


@contextmanager
def task(files: Files) -> Iterator[list[dict[str, Any]]]:
    """A task of a graph whose state holds ``files``: it sees them and what it sends itself, which is yielded."""
    sent: list[dict[str, Any]] = []

    def read(_channel: str, _fresh: bool) -> Files:  # noqa: FBT001 - the graph passes it by position
        return merged(files, sent)

    def send(writes: list[tuple[str, dict[str, Any]]]) -> None:
        sent.extend(update for _, update in writes)

    config = {"configurable": {CONFIG_KEY_READ: read, CONFIG_KEY_SEND: send}}
    token = var_child_runnable_config.set(config)
    try:
        yield sent
    finally:
        var_child_runnable_config.reset(token)


def merged(files: Files, updates: list[dict[str, Any]]) -> Files:
    """What the ``files`` channel makes of a superstep's updates."""
    return _file_data_delta_reducer(files, updates)


class Result(SimpleNamespace):
    """What a tool call returned."""

    content: Any
    error: bool

    def outcome(self, call: FileCall) -> Outcome:
        return reconstruction.outcome_of(call, self.content, error=self.error)


class Tools:
    """The file tools over one backend."""

    def __init__(self, backend: BackendProtocol, token_limit: int | None = None) -> None:
        limits = {} if token_limit is None else {"tool_token_limit_before_evict": token_limit}
        self.tools = {tool.name: tool for tool in FilesystemMiddleware(backend=backend, **limits).tools}

    def call(self, name: str, arguments: Mapping[str, Any]) -> Result:
        message = self.tools[name].func(runtime=SimpleNamespace(tool_call_id="call"), **arguments)
        return Result(content=message.content, error=message.status == "error")


class StateTools(Tools):
    """The file tools over a state."""

    def __init__(self, token_limit: int | None = None) -> None:
        super().__init__(StateBackend(), token_limit)

    def read(self, path: str, entry: Any, **window: int) -> Result:
        with task({path: entry}):
            return self.call("read_file", {"file_path": path, **window})


class DiskTools(Tools):
    """The file tools over a directory."""

    def __init__(self, root: Path, token_limit: int | None = None) -> None:
        super().__init__(FilesystemBackend(root_dir=root, virtual_mode=True), token_limit)
        self.root = root

    def on_disk(self, path: str) -> Path:
        return self.root / path.lstrip("/")

    def bytes_at(self, path: str) -> bytes | None:
        file = self.on_disk(path)
        return file.read_bytes() if file.is_file() else None

    def read(self, path: str, text: str, **window: int) -> Result:
        self.on_disk(path).write_bytes(text.encode())
        return self.call("read_file", {"file_path": path, **window})
