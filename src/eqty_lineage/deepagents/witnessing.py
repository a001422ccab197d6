"""Who is asked what files hold, for how long, and what counts as an answer.

A witness is somebody else's code, and may do anything: it is asked in a daemon thread of its own, which is left behind
if it does not answer in time. While one hangs, no other is started, so at most one does for each handler.
"""

from __future__ import annotations

import contextlib
import contextvars
import inspect
import logging
import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from eqty_lineage.deepagents.facts import Why
from eqty_lineage.deepagents.recording.sdk import ConfigurationError

logger = logging.getLogger("eqty.deepagents")

TIMEOUT: Final = 2.0
MOST_TIMEOUTS: Final = 3
_NOT_FOUND: Final = "file_not_found"

_asked: contextvars.ContextVar[Witness | None] = contextvars.ContextVar("eqty_deepagents_asked", default=None)


class _NoAnswer(Exception):  # noqa: N818 - it never leaves this module
    """What a witness returned says nothing."""


@dataclass(slots=True)
class Testimony:
    """What a witness said: answers by path (``None``: no such file), and why others are missing."""

    answers: dict[str, bytes | None] = field(default_factory=dict)
    missing: list[tuple[Why, str]] = field(default_factory=list)


class Witness:
    """Asks a user's backend or function for the bytes of files."""

    @classmethod
    def of(cls, source: object, timeout: object) -> Witness | None:
        """Return a witness, or ``None`` for ``None``.

        Raises:
            ConfigurationError: ``source`` cannot be one, or ``timeout`` is no time limit.

        """
        if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout < math.inf:
            raise ConfigurationError(f"witness_timeout must be a positive number of seconds, not {timeout!r}")
        return None if source is None else cls(_look_of(source), float(timeout))

    def __init__(self, look: Callable[[list[str]], Testimony], timeout: float) -> None:
        """Start with a way to ask that may raise and take its time, and how long it may take."""
        self._look = look
        self._timeout = timeout
        self._hanging: threading.Thread | None = None
        self._timeouts = 0

    @property
    def is_asked_no_more(self) -> bool:
        """Whether it was too slow too often."""
        return self._timeouts >= MOST_TIMEOUTS

    def is_asked_here(self) -> bool:
        """Whether the caller is the witness itself, at work on an answer, or something that it started."""
        return _asked.get() is self

    def ask(self, paths: Sequence[str]) -> Testimony:
        """Return what the witness says of ``paths``, within the limit; whatever it does, nothing is raised."""
        if self.is_asked_no_more:
            return Testimony()
        if self._hanging is not None and self._hanging.is_alive():
            return self._too_slow(paths, "an earlier question is not answered yet")
        self._hanging = None
        said: list[Testimony] = []
        context = contextvars.copy_context()
        context.run(_asked.set, self)
        thread = threading.Thread(
            target=_answer, args=(context, self._look, list(paths), said), name="eqty-witness", daemon=True
        )
        try:
            thread.start()
        except RuntimeError as error:
            return Testimony(missing=[(Why.WITNESS_FAILED, f"{_named(paths)}: {error}")])
        thread.join(self._timeout)
        if said:
            return said[0]
        self._hanging = thread
        return self._too_slow(paths, f"{self._timeout:g} s")

    def _too_slow(self, paths: Sequence[str], detail: str) -> Testimony:
        self._timeouts += 1
        missing = [(Why.WITNESS_SLOW, f"{_named(paths)}: {detail}")]
        if self.is_asked_no_more:
            message = f"it was too slow {MOST_TIMEOUTS} times and is asked no more"
            logger.warning("the witness: %s", message)
            missing.append((Why.WITNESS_SLOW, message))
        return Testimony(missing=missing)


def _look_of(source: object) -> Callable[[list[str]], Testimony]:
    if isinstance(source, type):
        raise ConfigurationError(f"witness must be an instance, not the class {source.__name__}")
    asked: Callable[[Any, list[str]], Testimony]
    download = getattr(source, "download_files", None)
    if callable(download):
        look, asked = download, _ask_backend
    elif callable(source):
        look, asked = source, _ask_function
    elif callable(getattr(source, "adownload_files", None)):
        raise ConfigurationError("witness has only adownload_files; it is asked synchronously: give it download_files")
    else:
        kind = type(source).__name__
        raise ConfigurationError(f"witness must have download_files(paths) or be a callable path -> bytes, not {kind}")
    if any(map(_is_async, (look, getattr(look, "__call__", None)))):  # noqa: B004 - what it is, not whether it is there
        raise ConfigurationError("witness is asynchronous; it is asked synchronously: give it a plain function")
    return lambda paths: asked(look, paths)


def _is_async(function: object) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)


def _answer(
    context: contextvars.Context, look: Callable[[list[str]], Testimony], paths: list[str], said: list[Testimony]
) -> None:
    """Ask, in the thread of its own; the caller's context is what a backend finds its store and its state by."""
    try:
        said.append(context.run(look, paths))
    except BaseException as error:  # noqa: BLE001 - what a witness raises is no business of the run
        said.append(Testimony(missing=[(Why.WITNESS_FAILED, f"{_named(paths)}: {_why(error)}")]))


def _ask_function(look: Callable[[str], Any], paths: list[str]) -> Testimony:
    testimony = Testimony()
    for path in paths:
        try:
            testimony.answers[path] = _bytes_in(look(path))
        except Exception as error:  # noqa: BLE001 - the next path may be answered
            testimony.missing.append((Why.WITNESS_FAILED, f"{path}: {_why(error)}"))
    return testimony


def _ask_backend(look: Callable[[list[str]], Any], paths: list[str]) -> Testimony:
    responses = look(list(paths))
    if not isinstance(responses, list | tuple):
        _discard(responses)
        raise _NoAnswer(f"{type(responses).__name__} instead of a list")
    if len(responses) != len(paths):
        raise _NoAnswer(f"a list of {len(responses)}")
    named = {name: response for response in responses if isinstance(name := getattr(response, "path", None), str)}
    testimony = Testimony()
    for path, response in zip(paths, responses, strict=False):
        try:
            testimony.answers[path] = _content_of(named.get(path, response), path, paths)
        except Exception as error:  # noqa: BLE001 - the next path may be answered
            testimony.missing.append((Why.WITNESS_FAILED, f"{path}: {_why(error)}"))
    return testimony


def _content_of(response: object, path: str, paths: list[str]) -> bytes | None:
    """Return what one response says, as those of DeepAgents do: ``content`` and ``error``, in the order asked."""
    name = getattr(response, "path", path)
    if name != path and name in paths:
        raise _NoAnswer("the response is for another path")
    error = getattr(response, "error", None)
    if error is not None:
        if isinstance(error, str) and error == _NOT_FOUND:
            return None
        # a word is one of DeepAgents' errors; anything longer may quote what is in the file
        raise _NoAnswer(f"error {error}" if isinstance(error, str) and error.isidentifier() else "an error")
    if not hasattr(response, "content"):
        raise _NoAnswer(f"{type(response).__name__} has no content")
    return _bytes_in(response.content)


def _bytes_in(content: object) -> bytes | None:
    if content is None:
        return None
    if isinstance(content, bytes | bytearray | memoryview):
        return bytes(content)
    _discard(content)
    raise _NoAnswer(f"{type(content).__name__} instead of bytes")


def _discard(returned: object) -> None:
    """Close a coroutine that nobody will await, so that Python does not complain of it."""
    if inspect.iscoroutine(returned):
        with contextlib.suppress(BaseException):
            returned.close()


def _why(error: BaseException) -> str:
    return str(error) if isinstance(error, _NoAnswer) else type(error).__name__


def _named(paths: Sequence[str]) -> str:
    return paths[0] if len(paths) == 1 else f"{len(paths)} files"
