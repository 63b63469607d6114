"""A model that the `llm` package knows, with its plugins and its keys. It is asked through its command line:
it takes seconds to import, and a child can be ended."""

import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec

from baselinekit.errors import Problem
from baselinekit.model.recipes import Answer, Model, ProcessResult, Usage
from baselinekit.models.command import not_installed, refuse_tools, run_of, succeed, text_of
from baselinekit.models.post import as_prompt, split_system
from baselinekit.models.setting import Form, Question, Reply, World
from baselinekit.variables import as_text

_USAGE = re.compile(rb"(?m)^Token usage: ([\d,]+) input, ([\d,]+) output")


def ask(question: Question) -> Reply:
    refuse_tools(question)
    asked, model = question.ask, question.model
    system, messages = split_system(asked.messages)
    options = {"temperature": asked.temperature, "max_tokens": asked.max_tokens, **model.settings}
    argv = [sys.executable, "-P", "-m", "llm", "prompt", "--no-stream", "--no-log", "--usage"]
    argv += [f"--model={model.llm}", *([f"--system={system}"] if system else [])]
    for name, value in options.items():
        if value is not None:
            argv += ["--option", name, as_text(value)]
    run = replace(run_of(question, argv), stdin=as_prompt(messages).encode("utf-8", "replace"))
    finished = question.world.execute(run)
    succeed(question, finished)
    answer = Answer(text_of(question, finished.stdout), None, _usage(finished), seconds=finished.seconds)
    return Reply(answer)


def check(model: Model, world: World) -> Iterator[Problem]:
    if find_spec("llm") is None:
        yield not_installed("llm")


FORM = Form(ask, frozenset(("env", "settings", "temperature", "max_tokens")), check=check)


def _usage(finished: ProcessResult) -> Usage:
    found = _USAGE.search(finished.stderr)
    if not found:
        return Usage()
    tokens_in, tokens_out = (int(number.replace(b",", b"")) for number in found.groups())
    return Usage(tokens_in, tokens_out)
