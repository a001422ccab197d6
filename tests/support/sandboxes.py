"""Backends that usually live elsewhere: a sandbox and a hub, as far as DeepAgents asks them, on this machine."""

import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from deepagents.backends.context_hub import ContextHubBackend
from deepagents.backends.protocol import ExecuteResponse, FileDownloadResponse, FileUploadResponse
from deepagents.backends.sandbox import BaseSandbox
from langsmith.schemas import FileEntry


class Sandbox(BaseSandbox):
    """Runs commands in a shell, and moves files by reading and writing them."""

    id = "sandbox"

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False)
        return ExecuteResponse(output=done.stdout + done.stderr, exit_code=done.returncode, truncated=False)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        for path, data in files:
            Path(path).write_bytes(data)
        return [FileUploadResponse(path=path, error=None) for path, _ in files]

    def download_files(self, paths: list[str]) -> list[Any]:
        return [
            FileDownloadResponse(path=path, content=Path(path).read_bytes(), error=None)
            if Path(path).is_file()
            else FileDownloadResponse(path=path, content=None, error="file_not_found")
            for path in paths
        ]


class CapturingSandbox(Sandbox):
    """A sandbox that keeps long output of commands in a file."""

    enable_capture_offload = True


class HubClient:
    """The part of a LangSmith client that a ``ContextHubBackend`` asks, kept in memory."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {}
        self._commits = 0

    def pull_agent(self, identifier: str, **_: Any) -> Any:
        files = {path: FileEntry(content=content) for path, content in self.files.items()}
        return SimpleNamespace(files=files, commit_hash=f"{self._commits:08x}")

    def push_agent(self, identifier: str, *, files: dict[str, Any], **_: Any) -> str:
        for path, entry in files.items():
            if entry is None:
                self.files.pop(path, None)
            else:
                self.files[path] = entry.content
        self._commits += 1
        return f"https://hub.example/agents/{identifier}:{self._commits:08x}"


def hub() -> ContextHubBackend:
    """A hub that keeps its files in memory."""
    return ContextHubBackend("-/agent", client=HubClient())  # type: ignore[arg-type]
