"""Models that are programs: a command of the configuration, a Python callable of the project, or a model of
the `llm` package."""

import sys
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from baselinekit.clients.models import post
from baselinekit.clients.models.anthropic import fault_of_end, tokens_of
from baselinekit.clients.models.budget import dollars
from baselinekit.clients.programs import children
from baselinekit.errors import Problem, cannot_replay
from baselinekit.files.jsontext import json_or_absent, to_bytes
from baselinekit.lazy import lazy_pattern
from baselinekit.model.recipes import Answer, Model, ProcessResult, ProcessSpec, Usage
from baselinekit.model.traces import StatedCall
from baselinekit.model.values import Json
from baselinekit.secrets.variables import as_text
from baselinekit.structs import Struct, convert, replace
from baselinekit.values.texts import mask_and_clip


def run(question: post.Question, argv: list[str], stdin: bytes | None = None) -> ProcessResult:
    """Run the program, by default with the question as one text on its standard input."""
    if question.ask.tools:
        hint = "ask one of the form `openai` or `anthropic`"
        raise cannot_replay("BK617", f"{question.name} is a program, which cannot be given tools", hint)
    stdin = post.as_prompt(question.ask.messages).encode("utf-8", "replace") if stdin is None else stdin
    env, world = children.child_environment(question.model.env), question.world
    return world.execute(ProcessSpec(tuple(argv), stdin, env, world.root, question.seconds, mask=world.mask))


def succeed(question: post.Question, finished: ProcessResult) -> None:
    hint = "run its command by hand, with a prompt on its standard input"
    children.require_success(finished, question.name, "BK323", question.world.mask, hint)


def text_of(question: post.Question, raw: bytes) -> str:
    try:
        return raw.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        message = f"{question.name} wrote something that is not UTF-8 text"
        hint = "let its command write UTF-8, and nothing but the answer"
        raise cannot_replay("BK612", message, hint) from None


def is_answer(value: Json) -> bool:
    """Whether a value is an answer as an object, and not only its text."""
    return isinstance(value, dict) and ("text" in value or "tool_calls" in value)


class StatedAnswer(Struct):
    """An answer as an object: all but one of the first two may be missing. One without `tool_calls` reports
    nothing about tools; an empty list means that none was called."""

    text: str | None = None
    tool_calls: list[StatedCall] | None = None
    usage: Usage = Usage()
    model: str | None = None


def answer_of(question: post.Question, value: Json, seconds: float) -> Answer:
    try:
        stated = convert(value, StatedAnswer)
    except ValueError as error:
        hint = "return {text, tool_calls, usage, model}, or a text alone"
        message = f"{question.name} returned an answer that cannot be read: {error}"
        raise cannot_replay("BK612", message, hint) from None
    calls = None if stated.tool_calls is None else tuple(call.as_call() for call in stated.tool_calls)
    return Answer(stated.text or "", calls, stated.usage, stated.model, seconds)


# A model that is a program of the configuration: the prompt on its standard input, the answer on its
# standard output. `output` is what that is: `text`; `json`, an answer as an object; `claude`, what
# `claude -p --output-format json` writes.

_LONGEST_QUOTE = 60


def ask_command(question: post.Question) -> post.Reply:
    model = question.model
    hint = f"correct `models: {question.ask.model}:` in baselinekit.yaml, or install it"
    argv = children.configured_argv(model.command or [], question.world.root, hint)
    finished = run(question, argv)
    if model.output == "claude":
        return _claude(question, finished)
    succeed(question, finished)
    text = text_of(question, finished.stdout)
    if model.output != "json":
        return post.Reply(Answer(text, None, seconds=finished.seconds))
    value = json_or_absent(text)
    if is_answer(value):
        return post.Reply(answer_of(question, value, finished.seconds))
    begin = mask_and_clip(text, _LONGEST_QUOTE, question.world.mask, counted=False)
    message = f"{question.name} did not write one JSON object with its text: {begin!r}"
    hint = "let its command write {text, tool_calls, usage} and nothing else, or state another `output:`"
    raise cannot_replay("BK612", message, hint)


def check_command(model: Model, world: post.World) -> Iterator[Problem]:
    if not model.command:
        yield Problem("BK602", "`command` names no program", "such as [claude, -p]", at=("command",))
        return
    children.configured_argv(model.command, world.root, "correct it in baselinekit.yaml, or install it")


def _tells_cost(model: Model) -> bool:
    return model.output in ("json", "claude")


COMMAND = post.Form(ask_command, frozenset(("env", "output")), check=check_command, tells_cost=_tells_cost)


def _claude(question: post.Question, finished: ProcessResult) -> post.Reply:
    output: Any = json_or_absent(text_of(question, finished.stdout))
    is_object = isinstance(output, dict)
    if is_object and output.get("is_error"):  # it may also have an exit code then, which means less
        reason = output.get("result") or output.get("subtype") or "an error"
        raise cannot_replay("BK323", f"{question.name} failed: {post.on_one_line(str(reason))}")
    succeed(question, finished)
    if not is_object or not isinstance(output.get("result"), str):
        hint = "is its command `claude -p --output-format json`?"
        raise cannot_replay("BK612", f"{question.name} wrote no `result`", hint)
    usage = tokens_of(output.get("usage") if isinstance(output.get("usage"), dict) else {})
    usage = replace(usage, cost_usd=dollars(output.get("total_cost_usd")), tokens_cached=None)
    models = output.get("modelUsage")
    served = next(iter(models)) if isinstance(models, dict) and len(models) == 1 else None
    answer = Answer(output["result"], None, usage, served, finished.seconds)
    return post.Reply(answer, fault_of_end(question, output.get("stop_reason")))


# A model that is a Python callable of the project: `module:function(prompt, **settings)`, called in a
# process of its own, returns a text, or an answer as a mapping.


def ask_python(question: post.Question) -> post.Reply:
    argv = children.callable_argv(question.model.python or "", question.world.root)
    question_json = {"input": post.as_prompt(question.ask.messages), "parameters": question.model.settings}
    finished = run(question, argv, to_bytes(question_json))
    result = children.returned_by(finished, question.name, "BK323", question.world.mask)
    if isinstance(result, str):
        return post.Reply(Answer(result, None, seconds=finished.seconds))
    if is_answer(result):
        return post.Reply(answer_of(question, result, finished.seconds))
    hint = "return a text, or {text, tool_calls, usage}"
    raise cannot_replay("BK612", f"{question.name} returned no text", hint)


def check_python(model: Model, world: post.World) -> Iterator[Problem]:
    if not children.callable_argv(model.python or "", world.root):
        yield Problem("BK602", f"`python: {model.python}`", "write module:function", at=("python",))


PYTHON = post.Form(ask_python, frozenset(("env", "settings")), check=check_python, tells_cost=lambda _: True)


# A model of the `llm` package, with its plugins and its keys. It is asked through its command line: the
# package takes seconds to import, and a process can be ended.

_USAGE = lazy_pattern(rb"(?m)^Token usage: ([\d,]+) input, ([\d,]+) output")


def ask_llm(question: post.Question) -> post.Reply:
    ask, model = question.ask, question.model
    system, messages = post.split_system(ask.messages)
    options = {"temperature": ask.temperature, "max_tokens": ask.max_tokens, **model.settings}
    argv = [sys.executable, "-P", "-m", "llm", "prompt", "--no-stream", "--no-log", "--usage"]
    argv += [f"--model={model.llm}", *([f"--system={system}"] if system else [])]
    for name, value in options.items():
        if value is not None:
            argv += ["--option", name, as_text(value)]
    stdin = post.as_prompt(messages).encode("utf-8", "replace")
    finished = run(question, argv, stdin)
    succeed(question, finished)
    match = _USAGE.search(finished.stderr)
    tokens = [int(number.replace(b",", b"")) for number in match.groups()] if match else [None, None]
    usage = Usage(tokens[0], tokens[1])
    return post.Reply(Answer(text_of(question, finished.stdout), None, usage, seconds=finished.seconds))


def check_llm(model: Model, world: post.World) -> Iterator[Problem]:
    if find_spec("llm") is None:
        hint = "pip install 'baselinekit[llm]'"
        yield Problem("BK602", "the package 'llm' is not installed", hint)


LLM = post.Form(ask_llm, frozenset(("env", "settings", "temperature", "max_tokens")), check=check_llm)
