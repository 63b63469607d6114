"""For programs that judge, in Python: what they are told as an object, what they say as JSON.

    from baselinekit.judge import judge

    @judge
    def check(case):
        missing = [word for word in ("async", "await") if word not in case.candidate_answer]
        return {"score": 1 - len(missing) / 2, "misses": missing}

The function is called as soon as it is defined, if its file is the program that runs: it stands last. A test
may import the file and call the function itself."""

import json
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from contextlib import redirect_stdout
from typing import Any, TypeVar

Check = TypeVar("Check", bound=Callable[..., Any])

_ADDRESS, _TOKEN = "BASELINEKIT_TARGET_PROXY_URL", "BASELINEKIT_TARGET_PROXY_TOKEN"


class Told(dict[str, Any]):
    """What the program is told: `case.candidate_answer` or `case["candidate_answer"]`. A key that the sender
    does not know is missing, and one with nothing in it is None."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"there is no {name!r}, but {', '.join(self)}") from None


def judge(check: Check) -> Check:
    """Calls a function with the case, and prints its verdict: True or False, a score from 0 to 1, or a
    mapping with `score`, and `hits`, `misses`, `reasoning` if it likes. One that raises could not judge: its
    error is printed as a miss, and the program ends with 1."""
    return _run(check, verdict)


def prompt_template(make: Check) -> Check:
    """Calls a function with the case, and prints the prompt that it returns."""
    return _run(make, prompt)


def _run(function: Check, shape: Callable[[Any], str]) -> Check:
    if function.__module__ == "__main__":
        said, code = answer(function, sys.stdin.buffer.read(), shape)
        sys.stdout.buffer.write(said.encode("utf-8", "backslashreplace"))
        sys.stdout.flush()
        sys.exit(code)
    return function


def answer(function: Callable[[Told], Any], stdin: bytes, shape: Callable[[Any], str]) -> tuple[str, int]:
    """What to print, and the exit code. What the function prints is a log, and goes to standard error."""
    try:
        told = json.loads(stdin)
        if not isinstance(told, dict):
            raise TypeError("standard input holds no JSON object")
        with redirect_stdout(sys.stderr):
            made = function(Told(told))
            if hasattr(made, "__await__"):
                import asyncio

                made = asyncio.run(_awaited(made))
        return shape(made), 0
    except Exception as error:
        traceback.print_exc()
        why = f"{type(error).__name__}: {error}".rstrip(": ")
        return (json.dumps({"score": 0, "misses": [why]}) + "\n" if shape is verdict else ""), 1


async def _awaited(made: Any) -> Any:
    return await made


def verdict(made: Any) -> str:
    """A verdict as JSON; ValueError or TypeError where it is none."""
    said = dict(made) if isinstance(made, Mapping) else {"score": made}
    score = said.get("score")
    if isinstance(score, bool):
        score = float(score)
    if not isinstance(score, int | float):
        raise TypeError(f"a judge returns True, False, a score or a mapping with one, not {made!r}")
    if not 0 <= score <= 1:
        raise ValueError(f"a score is from 0 to 1, not {score!r}")
    for key in ("hits", "misses"):
        if said.get(key) is not None:
            if isinstance(said[key], str):
                raise TypeError(f"`{key}` is a list of texts, not one text")
            said[key] = [str(text) for text in said[key]]
    return json.dumps({**said, "score": score}, ensure_ascii=False, allow_nan=False) + "\n"


def prompt(made: Any) -> str:
    """A prompt as it is; TypeError or ValueError where it is none."""
    if not isinstance(made, str):
        raise TypeError(f"a template returns a text, not {made!r}")
    if not made.strip():
        raise ValueError("the prompt is empty")
    return made


# The judges' model, for programs that may ask it (`target: {}` beside `script:`).


class TargetError(Exception):
    """No answer: `status` is 429 after the last call, 502 where the model failed."""

    def __init__(self, status: int, why: str):
        super().__init__(why)
        self.status = status


class Target:
    """The judges' model."""

    def __init__(self, address: str, token: str):
        self._host = address.removeprefix("http://")
        self._token = token

    def ask(self, question: str, system: str | None = None) -> str:
        """The answer to one question."""
        said = self.request("/invoke", _question(question, system))
        return str(said["rawText"])

    def ask_all(self, questions: Iterable[str], system: str | None = None) -> list[str]:
        """The answers to several, asked at the same time; all of them or none."""
        said = self.request("/invokeBatch", {"requests": [_question(one, system) for one in questions]})
        return [str(one["rawText"]) for one in said["responses"]]

    def info(self) -> dict[str, Any]:
        """`targetName`, `callCount` and `maxCalls`."""
        return self.request("/info")

    def request(self, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """One request, as it goes over the wire; TargetError for anything but an answer."""
        from http.client import HTTPConnection, HTTPException

        raw = None if body is None else json.dumps(body).encode()
        connection = HTTPConnection(self._host)
        try:
            headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
            connection.request("GET" if raw is None else "POST", path, raw, headers)
            reply = connection.getresponse()
            said: dict[str, Any] = json.loads(reply.read())
        except (OSError, HTTPException, ValueError) as error:
            raise TargetError(503, f"the target proxy gave no answer: {error}") from error
        finally:
            connection.close()
        if reply.status != 200:
            raise TargetError(reply.status, str(said.get("error")))
        return said


def _question(question: str, system: str | None) -> dict[str, str]:
    return {"question": question} if system is None else {"question": question, "systemPrompt": system}


def target() -> Target | None:
    """The judges' model; None where this program may not ask it."""
    address, token = os.environ.get(_ADDRESS), os.environ.get(_TOKEN)
    return Target(address, token) if address and token else None
