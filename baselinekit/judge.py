"""For judges written in Python: their input as an object, their verdict as JSON.

    from baselinekit.judge import judge

    @judge
    def check(case):
        missing = [word for word in ("async", "await") if word not in case.candidate_answer]
        return {"score": 1 - len(missing) / 2, "misses": missing}

The function is called as soon as it is defined if its file is run as the program, so it must come last. A
test may import the file and call the function itself."""

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
    """The input of the program: `case.candidate_answer` or `case["candidate_answer"]`. A key that the sender
    does not know is missing, and one without a value is None."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"there is no {name!r}, but {', '.join(self)}") from None


def judge(check: Check) -> Check:
    """Call a function with the case and print its verdict: True or False, a score from 0 to 1, or a mapping
    with `score` and optionally `hits`, `misses` and `reasoning`. If it raises, the error is printed as a
    miss, and the exit code is 1."""
    return _run_if_main(check, verdict)


def prompt_template(make: Check) -> Check:
    """Call a function with the case and print the prompt that it returns."""
    return _run_if_main(make, prompt)


def _run_if_main(function: Check, shape: Callable[[Any], str]) -> Check:
    if function.__module__ == "__main__":
        output, code = answer(function, sys.stdin.buffer.read(), shape)
        sys.stdout.buffer.write(output.encode("utf-8", "backslashreplace"))
        sys.stdout.flush()
        sys.exit(code)
    return function


def answer(function: Callable[[Told], Any], stdin: bytes, shape: Callable[[Any], str]) -> tuple[str, int]:
    """The text to print, and the exit code. What the function itself prints goes to standard error."""
    try:
        case = json.loads(stdin)
        if not isinstance(case, dict):
            raise TypeError("standard input holds no JSON object")
        with redirect_stdout(sys.stderr):
            result = function(Told(case))
        return shape(result), 0
    except Exception as error:
        traceback.print_exc()
        reason = f"{type(error).__name__}: {error}".rstrip(": ")
        return (json.dumps({"score": 0, "misses": [reason]}) + "\n" if shape is verdict else ""), 1


def verdict(result: Any) -> str:
    """A verdict as JSON, which baselinekit checks; ValueError or TypeError if it is none."""
    fields = dict(result) if isinstance(result, Mapping) else {"score": result}
    if isinstance(fields.get("score"), bool):
        fields["score"] = float(fields["score"])
    return json.dumps(fields, ensure_ascii=False, allow_nan=False) + "\n"


def prompt(result: Any) -> str:
    """A prompt as it is; TypeError or ValueError if it is not one."""
    if not isinstance(result, str):
        raise TypeError(f"a template returns a text, not {result!r}")
    if not result.strip():
        raise ValueError("the prompt is empty")
    return result


# The judges' model, for programs that may ask it (`target: {}` beside `script:`).


class TargetError(Exception):
    """No answer: `status` is 429 if no calls remain, 502 if the model failed."""

    def __init__(self, status: int, message: str):
        super().__init__(message)
        self.status = status


class Target:
    """The judges' model."""

    def __init__(self, address: str, token: str):
        self._host = address.removeprefix("http://")
        self._token = token

    def ask(self, question: str, system: str | None = None) -> str:
        """The answer to one question."""
        reply = self.request("/invoke", _question_body(question, system))
        return str(reply["rawText"])

    def ask_all(self, questions: Iterable[str], system: str | None = None) -> list[str]:
        """The answers to several questions, asked at the same time; all of them or none."""
        response = self.request(
            "/invokeBatch", {"requests": [_question_body(question, system) for question in questions]}
        )
        return [str(reply["rawText"]) for reply in response["responses"]]

    def info(self) -> dict[str, Any]:
        """`targetName`, `callCount` and `maxCalls`."""
        return self.request("/info")

    def request(self, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Send one request; TargetError for anything but an answer."""
        from http.client import HTTPConnection, HTTPException

        raw = None if body is None else json.dumps(body).encode()
        connection = HTTPConnection(self._host)
        try:
            headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
            connection.request("GET" if raw is None else "POST", path, raw, headers)
            response = connection.getresponse()
            reply: dict[str, Any] = json.loads(response.read())
        except (OSError, HTTPException, ValueError) as error:
            raise TargetError(503, f"the target proxy gave no answer: {error}") from error
        finally:
            connection.close()
        if response.status != 200:
            raise TargetError(response.status, str(reply.get("error")))
        return reply


def _question_body(question: str, system: str | None) -> dict[str, str]:
    return {"question": question} if system is None else {"question": question, "systemPrompt": system}


def target() -> Target | None:
    """The judges' model; None if this program may not ask it."""
    address, token = os.environ.get(_ADDRESS), os.environ.get(_TOKEN)
    return Target(address, token) if address and token else None
