"""A fake model that speaks both wire forms, right or wrong, and a world of fakes to ask it in."""

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from baselinekit.clients.models.dispatch import Models
from baselinekit.clients.models.post import World
from baselinekit.errors import CannotReplay, cannot_replay
from baselinekit.model.recipes import (
    Answer,
    Limits,
    Message,
    Model,
    ModelQuestion,
    ProcessResult,
    ProcessSpec,
    Request,
    Response,
)
from baselinekit.secrets.variables import Redactor, Scope, Secret

KEY = "sk-live-5f0c/ä+secret=="
ASCII_KEY = "sk-live-5f0c9d8e7a6b5c4d"


@dataclass
class ReceivedQuestion:
    """A question as it came in."""

    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class Reply:
    """An answer as it goes out."""

    body: Any = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    hang_up: bool = False


def chat(text: str | None = "fine", ended: str | None = "stop", **message: Any) -> dict[str, Any]:
    """What `/v1/chat/completions` answers."""
    return {
        "id": "c1",
        "object": "chat.completion",
        "model": "served-1",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": text, **message}, "finish_reason": ended}
        ],
        "usage": {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15},
    }


def message(*blocks: Any, ended: str | None = "end_turn", **usage: int) -> dict[str, Any]:
    """What `/v1/messages` answers."""
    return {
        "id": "m1",
        "type": "message",
        "role": "assistant",
        "model": "served-2",
        "content": [{"type": "text", "text": item} if isinstance(item, str) else item for item in blocks],
        "stop_reason": ended,
        "usage": usage or {"input_tokens": 10, "output_tokens": 4},
    }


class Wire:
    """A model over HTTP: gives these answers in turn, then good ones, and keeps the requests."""

    def __init__(self, *script: Reply | dict[str, Any]):
        self.script = deque(item if isinstance(item, Reply) else Reply(item) for item in script)
        self.requests: list[ReceivedQuestion] = []
        self.times: list[float] = []

    def __call__(self, request: Request) -> Response:
        self.times.append(time.monotonic())
        url = urlsplit(request.url)
        path = url.path + (f"?{url.query}" if url.query else "")
        headers = {name.lower(): value for name, value in request.headers}
        self.requests.append(ReceivedQuestion(path, headers, json.loads(request.content)))
        reply = self.script.popleft() if self.script else Reply(chat() if "chat" in path else message("fine"))
        if reply.hang_up:
            raise cannot_replay("BK304", "the connection was closed without an answer")
        body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        return Response(reply.status, tuple(reply.headers.items()), body, 0.25)


class Clock:
    """Time that passes only by sleeping."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.slept: list[float] = []
        self._lock = threading.Lock()

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        with self._lock:
            self.slept.append(seconds)
            self.now += seconds


def shut(request: Request) -> Response:
    raise AssertionError("no request was expected")


def no_program(run: ProcessSpec) -> ProcessResult:
    raise AssertionError("no program was expected")


def world(
    send: Callable[[Request], Response] = shut,
    execute: Callable[[ProcessSpec], ProcessResult] = no_program,
    clock: Clock | None = None,
    secrets: Mapping[str, str] | None = None,
    **more: Any,
) -> World:
    """A request or a program is an error, time does not pass, and jitter is fixed."""
    still = clock or Clock()
    found = {name: Secret(value) for name, value in (secrets or {}).items()}
    scope = Scope(secrets=found)
    given: dict[str, Any] = {
        "root": "/nowhere",
        "secret": lambda name: str(scope.lookup(name)),
        "mask": Redactor(found).mask,
        "clock": still,
        "sleep": still.sleep,
        "jitter": lambda: 0.5,
    }
    return World(send=send, execute=execute, **{**given, **more})


def models(model: Model, world: World, limits: Limits | None = None) -> Models:
    """A configuration of one model, `m`."""
    return Models({"m": model}, limits or Limits(), world)


def question(text: str = "How are you?", **more: Any) -> ModelQuestion:
    return ModelQuestion("m", (Message("user", text),), **more)


def failure(model: Models | Any, ask: ModelQuestion | None = None) -> CannotReplay:
    """Why there is no answer."""
    try:
        answer: Answer = model.ask(ask or question())
    except CannotReplay as error:
        return error
    raise AssertionError(f"there is an answer: {answer}")
