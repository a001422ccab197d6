"""A server that runs remote agents, as much of it as DeepAgents asks for: it answers when it is told to."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class RemoteAgents:
    """Threads and runs of a server; ``answer`` ends every run."""

    def __init__(self) -> None:
        self.status = "running"
        self.text = ""
        self.asked: list[str] = []
        self.url = ""
        self.unavailable = False
        """Whether it turns every request away."""

    def answer(self, text: str) -> None:
        self.status, self.text = "success", text

    def respond(self, method: str, path: str, body: dict[str, Any]) -> Any:
        self.asked.append(f"{method} {path}")
        match (method, path.strip("/").split("/")):
            case ("POST", ["threads"]):
                return {"thread_id": "11111111-1111-4111-8111-111111111111", "metadata": {}}
            case ("POST", ["threads", thread, "runs"]):
                return self._run(thread)
            case ("GET", ["threads", thread]):
                return {"thread_id": thread, "values": {"messages": [{"type": "ai", "content": self.text}]}}
            case ("GET", ["threads", thread, "runs"]):
                return [self._run(thread)]
            case ("GET", ["threads", thread, "runs", _]):
                return self._run(thread)
            case ("POST", ["threads", _, "runs", _, "cancel"]):
                self.status = "interrupted"
                return {}
            case _:
                return {}

    def _run(self, thread: str) -> dict[str, Any]:
        return {"run_id": "22222222-2222-4222-8222-222222222222", "thread_id": thread, "status": self.status}


@contextmanager
def remote_agents(agents: RemoteAgents | None = None) -> Iterator[RemoteAgents]:
    """A server on this machine, for as long as the block lasts."""
    agents = agents or RemoteAgents()

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            path = self.path.partition("?")[0]
            answer = {} if agents.unavailable else agents.respond(self.command, path, json.loads(body or b"{}"))
            data = json.dumps(answer).encode()
            self.send_response(503 if agents.unavailable else 200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = _answer  # noqa: N815 - the server looks them up by these names

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    agents.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield agents
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
