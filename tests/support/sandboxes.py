"""A sandbox whose commands run in processes of this machine."""

import subprocess
from pathlib import Path
from typing import Any

from deepagents.backends.protocol import ExecuteResponse, FileDownloadResponse, FileUploadResponse
from deepagents.backends.sandbox import BaseSandbox


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
        return [FileDownloadResponse(path=path, content=Path(path).read_bytes(), error=None) for path in paths]


class CapturingSandbox(Sandbox):
    """A sandbox that keeps long output of commands in a file."""

    enable_capture_offload = True
