"""Replays a target that is a program: its command line is filled in, and what it writes is the answer.

A command line without anything that only a shell understands is run without one, so that nothing in a
question can be taken for a command. Otherwise `/bin/sh` reads it, with every value quoted."""

import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import field, replace
from typing import Any

from baselinekit.documents.jsontext import NotJson, decode, to_bytes
from baselinekit.errors import (
    BaselinekitError,
    CannotReplay,
    InvalidInput,
    Problem,
    Refused,
    cannot,
    how_ended,
)
from baselinekit.frozen import frozen
from baselinekit.kinds.cli import KIND, PLACEHOLDER, CliExecution, Healthcheck
from baselinekit.kinds.http import HttpExecution
from baselinekit.kinds.kind import EXECUTION, INPUT
from baselinekit.kinds.messages import ConversationInput, plain_text, prompt_of
from baselinekit.lazy import lazy_pattern
from baselinekit.model.recipes import HttpRequest, Observation, ProcessResult, ProcessSpec, Recipe
from baselinekit.model.values import Path
from baselinekit.programs.children import (
    SHELL,
    child_environment,
    configured_argv,
    needs_shell,
    program_at,
    said_last,
)
from baselinekit.replaying.files import inside, read_if_there
from baselinekit.replaying.http import replay_http
from baselinekit.replaying.post import question_as_json
from baselinekit.replaying.settings import Row, Setting, check_defined, invalid, is_named
from baselinekit.replaying.traces import answer_of_text, answer_of_value, is_told
from baselinekit.variables import Scope, as_text, with_places

_TIMEOUT = 120.0
_HEALTH_TIMEOUT = 30.0
_MOST_ANSWERED = 10_000_000
_LONGEST_WORD = 131_071
"""Bytes of one word of a command line: a system takes no longer one."""

_TOO_LATE = "BK321"
_FIRST_PLACE = lazy_pattern(r"\s*\{(_+)\}(?=\s|$)")
_HARMLESS = lazy_pattern(r"[\w@%+=:,./ -]*", re.ASCII)
"""What means the same between quotes of any kind."""


@frozen
class CommandLine:
    """A command line before anything is filled in. `argv`: its words, where no shell is needed; `text`: all
    of it, for a shell; `variables`: what stands for the places of its variables."""

    argv: tuple[str, ...] = ()
    text: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)


def replay_cli(recipe: Recipe, setting: Setting) -> Observation:
    execution: CliExecution = setting.scope.expand(recipe.execution, EXECUTION)
    asked: ConversationInput = setting.scope.expand(recipe.input, INPUT)
    start = _Start(recipe, execution, setting)
    if (health := execution.healthcheck) is not None:
        seen = ("healthcheck", repr(health), start.is_named, setting.surroundings.folder)
        setting.clients.once.get(seen, lambda: check_health(health, start))
    if not execution.batch:
        return ask_alone(asked, start)
    together = tuple(name for name, _ in setting.clients.batches.get(batch_key(recipe) or "", ()))
    about = (start.is_named, setting.surroundings.folder, setting.turn)
    key = ("batch", repr(execution), *about, together)
    answers: Mapping[str, Observation | Problem] = setting.clients.once.get(key, lambda: ask_together(start))
    name = asked.case or setting.asker
    found = answers.get(name, answers.get(setting.asker))
    if found is None:
        raise cannot("BK796", f"{start.who} gave no answer for {name}", "it writes a line for each id")
    if isinstance(found, Problem):
        raise CannotReplay(found)
    return found


def check_cli(recipe: Recipe, setting: Setting) -> None:
    """Undefined variables, a command line that cannot be filled in safely, a program that may not run."""
    check_defined(recipe, setting)
    execution: CliExecution = setting.scope.expand(recipe.execution, EXECUTION)
    start = _Start(recipe, execution, setting)
    start.words(recipe.execution.command, (*EXECUTION, "command"), start.folder(execution.cwd))
    health = recipe.execution.healthcheck
    if health is not None and health.command is not None:
        at = (*EXECUTION, "healthcheck", "command")
        cwd = setting.scope.expand(health.cwd) or execution.cwd
        start.words(health.command, at, start.folder(cwd))


# How it is started: by whom it is allowed, where, with what environment.


@frozen
class _Start:
    """A target on its way to a process. `recipe`: as it is written, which tells whose it is."""

    recipe: Recipe
    execution: CliExecution
    setting: Setting

    @property
    def who(self) -> str:
        return KIND.whom(self.recipe)

    @property
    def is_named(self) -> bool:
        return is_named(self.recipe, self.setting)

    def folder(self, stated: str | None) -> str:
        """Where it is started: the folder of the file that asks, or one from there. Only the operator and the
        configuration lead out of the project."""
        around = self.setting.surroundings
        path = os.path.join(around.folder, stated or ".")
        path = os.path.realpath(path) if self.is_named else inside(around, stated or ".")
        if not os.path.isdir(path):
            raise invalid(
                "BK320", f"the working folder {stated!r} does not exist", "correct `cwd`", (*EXECUTION, "cwd")
            )
        return path

    def words(self, command: str | Sequence[str], at: Path, cwd: str) -> CommandLine:
        """The command line with the whole path of its program; Refused where nobody allows it."""
        line = read_command(command, self.setting.scope, at)
        around = self.setting.surroundings
        if line.text:
            if not self.is_named:
                self.refuse(SHELL, at)
            return line
        first = PLACEHOLDER.sub(lambda match: line.variables.get(match[1], match[0]), line.argv[0])
        known = None if self.is_named else around.commands.get(first)
        if known is not None:
            hint = f"correct `commands: {first}:` in baselinekit.yaml, or install it"
            missing = [name for name in self.execution.env if name not in known.env]
            if missing and not self.setting.trust.allow_exec:
                what = f"the configuration does not allow files to hand {', '.join(missing)} to this program"
                raise Refused(Problem("BK340", what, "list it under `env:` of its command", at=at))
            return replace(line, argv=(*configured_argv(known.argv, around.root, hint), *line.argv[1:]))
        if not self.is_named:
            self.refuse(first, at)
        try:
            program = program_at(first, cwd, "install it, or correct its name")
        except BaselinekitError as error:
            raise InvalidInput(*(replace(one, at=at) for one in error.problems)) from None
        return replace(line, argv=(program, *line.argv[1:]))

    def refuse(self, program: str, at: Path) -> None:
        """Unless the operator allows everything."""
        try:
            self.setting.trust.check_program(program)
        except Refused:
            hint = (
                "name the file of the targets yourself (--targets FILE, or `targets: FILE` in "
                "baselinekit.yaml), list the program under `commands:`, or pass --allow-exec"
            )
            whose = f"the target {self.execution.target}" if self.execution.target else "the target"
            what = f"{whose} runs {program!r}, which is not named in the configuration"
            raise Refused(Problem("BK403", what, hint, at=at)) from None

    def run(
        self, line: CommandLine, values: "Values", cwd: str, timeout: float, stdin: bytes = b""
    ) -> ProcessResult:
        values = replace(values, texts={**values.texts, **line.variables})
        argv = (SHELL, "-c", values.in_shell(line.text)) if line.text else tuple(values.in_words(line.argv))
        longest = max(argv, key=lambda word: len(word.encode("utf-8", "surrogatepass")))
        if len(longest.encode("utf-8", "surrogatepass")) > _LONGEST_WORD:
            what = f"{self.who}: the question is too long for a command line ({len(longest):,} characters)"
            raise cannot("BK793", what, "let it read {PROMPT_FILE} instead of {PROMPT}")
        if any("\0" in word for word in argv):
            raise cannot(
                "BK793", f"{self.who}: the question holds a NUL character", "remove it, or use {PROMPT_FILE}"
            )
        return self.setting.clients.execute(
            ProcessSpec(
                argv=argv,
                stdin=stdin,
                env=child_environment(self.execution.env),
                cwd=cwd,
                timeout=timeout,
                max_stdout=_MOST_ANSWERED,
                mask=self.setting.redactor.mask,
            )
        )


# A command line, and what is filled in.


def read_command(command: str | Sequence[str], scope: Scope, at: Path) -> CommandLine:
    """A command line with a place for each of its variables: what one holds is one word, and is not looked at
    again. Only one that the line begins with may be a program with its words."""
    names, values = dict[str, str](), dict[str, str]()

    def place(name: str, value: str | None = None) -> str:
        own = "_" * (len(values) + 1)
        names[own] = name
        values[own] = as_text(scope.lookup(name, at)) if value is None else value
        return f"{{{own}}}"

    if not isinstance(command, str):
        return CommandLine(tuple(with_places(word, place) for word in command), variables=values)
    text = with_places(command, place)
    if first := _FIRST_PLACE.match(text):
        with suppress(ValueError):  # quotes in it do not end: then it is one word
            words = shlex.split(values[first[1]])
            if words:
                text = " ".join(place(names[first[1]], word) for word in words) + text[first.end() :]
    for inner in PLACEHOLDER.finditer(split_quotes(text, at)[1]):
        if inner[1] in values and _HARMLESS.fullmatch(values[inner[1]]):
            text = text.replace(inner[0], values[inner[1]])
    try:
        return replace(read_line(text, at), variables=values)
    except InvalidInput as error:
        said = [replace(one, message=_with_names(one.message, names)) for one in error.problems]
        raise InvalidInput(*(replace(one, hint=_with_names(one.hint, names)) for one in said)) from None


def _with_names(text: str, names: Mapping[str, str]) -> str:
    """A text with the variables as they are written."""
    return PLACEHOLDER.sub(
        lambda match: f"{{{{{names[match[1]]}}}}}" if match[1] in names else match[0], text
    )


def read_line(command: str | Sequence[str], at: Path) -> CommandLine:
    """InvalidInput where it ends within quotes, or where a value would be put between quotes of a shell,
    which it could end."""
    if not isinstance(command, str):
        return CommandLine(tuple(command))
    bare, quoted = split_quotes(command, at)
    if not needs_shell(PLACEHOLDER.sub("", bare)):
        return CommandLine(tuple(shlex.split(command)))
    if inner := PLACEHOLDER.search(quoted):
        hint = f"write {inner[0]} without quotes: it is quoted when it is filled in"
        raise invalid("BK791", f"{inner[0]} stands between quotes of a shell", hint, at)
    return CommandLine(text=command)


def split_quotes(command: str, at: Path) -> tuple[str, str]:
    """What stands outside of quotes, with the signs that double quotes do not take their meaning, and what
    stands within them."""
    bare, quoted, quote = [], [], ""
    for sign in command:
        if quote:
            if sign == quote:
                quote = ""
            else:
                quoted.append(sign)
                bare += [sign] if quote == '"' and sign in "$`\\" else []
        elif sign in "'\"":
            quote = sign
        else:
            bare.append(sign)
    if quote:
        raise invalid("BK791", "the command line ends within quotes", "close them", at)
    return "".join(bare), "".join(quoted)


@frozen
class Values:
    """What stands for the placeholders, each filled in once: what a question holds is not looked at again."""

    texts: Mapping[str, str]
    files: Sequence[str]
    files_format: str

    def in_words(self, words: Sequence[str]) -> Iterator[str]:
        for word in words:
            if word == "{FILES}":
                for path in self.files:
                    for part in shlex.split(self.files_format):
                        yield _of_file(part, path, str)
            else:
                yield PLACEHOLDER.sub(lambda match: self._text(match, str), word)

    def in_shell(self, text: str) -> str:
        return PLACEHOLDER.sub(lambda match: self._text(match, shlex.quote), text)

    def _text(self, match: re.Match[str], quote: Callable[[str], str]) -> str:
        if match[1] == "FILES":
            return " ".join(_of_file(self.files_format, path, quote) for path in self.files)
        return quote(self.texts[match[1]]) if match[1] in self.texts else match[0]


def _of_file(form: str, path: str, quote: Callable[[str], str]) -> str:
    known = {"{path}": path, "{basename}": os.path.basename(path)}
    return re.sub(r"\{path\}|\{basename\}", lambda match: quote(known[match[0]]), form)


def values_for(asked: ConversationInput, start: _Start, folder: str, output: str) -> Values:
    """What stands for each placeholder of a command line; the question is written into `folder`."""
    question = prompt_of(without_given_files(asked, start.recipe.execution.command))
    prompt_file = os.path.join(folder, "prompt.txt")
    with open(prompt_file, "w", encoding="utf-8", errors="surrogatepass", newline="") as file:
        file.write(question)
    texts = {
        "PROMPT": question,
        "PROMPT_FILE": prompt_file,
        "GUIDELINES": guidelines_of(asked),
        "EVAL_ID": asked.case or start.setting.asker,
        "ATTEMPT": str(start.setting.turn),
        "OUTPUT_FILE": output,
    }
    return Values(texts, [*dict.fromkeys(asked.input_files)], start.execution.files_format)


def without_given_files(asked: ConversationInput, command: str | Sequence[str]) -> ConversationInput:
    """The question with those files by their names alone that the command line hands over in another way."""
    line = command if isinstance(command, str) else " ".join(command)
    given = {*(asked.input_files if "{FILES}" in line else ())}
    given |= {*(asked.guideline_files if "{GUIDELINES}" in line else ())}
    if not given:
        return asked

    def named(part: Any) -> Any:
        is_given = isinstance(part, dict) and part.get("path") in given
        return {"type": "text", "value": f"<file: {part.get('value')}>"} if is_given else part

    messages = [
        replace(one, content=[named(part) for part in one.content]) if isinstance(one.content, list) else one
        for one in asked.messages
    ]
    return replace(asked, messages=messages)


def guidelines_of(asked: ConversationInput) -> str:
    """What stands in the files with rules for the answer that its messages name."""
    wanted = set(asked.guideline_files)
    parts = [
        part for message in asked.messages if isinstance(message.content, list) for part in message.content
    ]
    rules = [part for part in parts if isinstance(part, dict) and part.get("path") in wanted]
    return plain_text([*rules]) if rules else ""


# One question, or all of them at once.


def ask_alone(asked: ConversationInput, start: _Start) -> Observation:
    """Asked again where it took too long, as often as the target says."""
    for tried in range(1, (start.execution.retries or 0) + 2):
        try:
            text, seconds = answer_written(asked, start, ".json")
        except CannotReplay as error:
            if tried > (start.execution.retries or 0) or error.problems[0].code != _TOO_LATE:
                raise
        else:
            return replace(answer_of_text(text, seconds, start.who), attempts=tried)
    raise AssertionError("the last try returns or raises")


def ask_together(start: _Start) -> dict[str, Observation | Problem]:
    """What it answers to all cases, by their ids. A line that is none is an error of them all."""
    asked: list[tuple[str, ConversationInput]] = list(
        start.setting.clients.batches.get(batch_key(start.recipe) or "", ())
    )
    scope = start.setting.scope
    cases = [(name, scope.expand(one)) for name, one in asked]
    files = [path for _, one in cases for path in one.input_files]
    lines = [to_bytes(question_as_json(one, replace(start.setting, asker=name))) for name, one in cases]
    whole = ConversationInput([], [], files, "batch")
    text, seconds = answer_written(whole, start, ".jsonl", b"".join(line + b"\n" for line in lines))
    return answers_of_lines(text, seconds / max(len(cases), 1), start.who)


def batch_key(recipe: Recipe) -> str | None:
    """The same for all recipes that one start of a program answers; None where each has its own."""
    return repr(replace(recipe.execution, timeout=None)) if recipe.execution.batch else None


def answers_of_lines(text: str, seconds: float, who: str) -> dict[str, Observation | Problem]:
    """JSON Lines by their ids. `seconds`: for an answer that does not say how long it took."""
    answers: dict[str, Observation | Problem] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row: Any = decode(line)
        except NotJson as error:
            raise cannot("BK796", f"{who}: line {number} of its answer is not JSON: {error}") from None
        name = row.get("id") if isinstance(row, dict) else None
        if not isinstance(name, str) or not name.strip():
            raise cannot(
                "BK796", f"{who}: line {number} of its answer has no `id`", "write {id, text} for each case"
            )
        if name in answers:
            answers[name] = Problem("BK796", f"{who} answered {name} twice", "write one line for each case")
            continue
        if not is_told(row):
            what = f"{who} gave {name} neither a `text` nor `output_messages`"
            answers[name] = Problem("BK796", what, "write {id, text} or {id, output_messages}")
            continue
        try:
            answers[name] = answer_of_value(row, seconds, who)
        except CannotReplay as error:
            answers[name] = error.problems[0]
    return answers


def answer_written(
    asked: ConversationInput, start: _Start, ending: str, stdin: bytes = b""
) -> tuple[str, float]:
    """What it wrote to its file, or to its standard output where its command line names no file."""
    execution = start.execution
    cwd = start.folder(execution.cwd)
    line = start.words(start.recipe.execution.command, (*EXECUTION, "command"), cwd)
    timeout = float(_TIMEOUT if execution.timeout is None else execution.timeout)
    with _folder_of_its_own() as folder:
        output = os.path.join(folder, f"output{ending}")
        finished = start.run(line, values_for(asked, start, folder, output), cwd, timeout, stdin)
        mask = start.setting.redactor.mask
        if finished.exit_code:
            said = said_last(finished.stderr.strip() or finished.stdout, mask)
            raise cannot(
                "BK790", f"{start.who} {how_ended(finished.exit_code)}{said}", "run its command line by hand"
            )
        content = finished.stdout
        if "{OUTPUT_FILE}" in (line.text or "\0".join(line.argv)):
            around = replace(start.setting.surroundings, root=folder, folder=folder, within="")
            found = read_if_there(around, os.path.basename(output))
            if found is None:
                said = said_last(finished.stderr, mask)
                raise cannot(
                    "BK790",
                    f"{start.who} wrote nothing into {{OUTPUT_FILE}}{said}",
                    "let it write its answer there",
                )
            content = found
    try:
        return content.decode("utf-8-sig"), finished.seconds
    except UnicodeDecodeError:
        raise cannot(
            "BK790", f"{start.who} did not answer in UTF-8 text", "let it write text or JSON"
        ) from None


def _folder_of_its_own() -> AbstractContextManager[str]:
    from tempfile import TemporaryDirectory  # which brings every archive format along

    return TemporaryDirectory(prefix="baselinekit-")


# Whether it works, looked at once in a run.


def check_health(health: Healthcheck, start: _Start) -> None:
    """CannotReplay where it does not."""
    timeout = float(health.timeout or start.execution.timeout or _HEALTH_TIMEOUT)
    what = f"{start.who} does not work: its healthcheck"
    if health.url is not None:
        request = Recipe(HttpRequest("GET", url=health.url, timeout=timeout), HttpExecution("http"))
        try:
            status = replay_http(request, start.setting).output["status"]
        except CannotReplay as error:
            raise cannot(
                "BK797", f"{what} failed: {error.problems[0].message}", "start what it needs"
            ) from None
        if not 200 <= status < 300:
            raise cannot("BK797", f"{what} was answered with status {status}", "start what it needs")
        return
    cwd = start.folder(health.cwd or start.execution.cwd)
    written = start.recipe.execution.healthcheck.command or []
    line = start.words(written, (*EXECUTION, "healthcheck", "command"), cwd)
    with _folder_of_its_own() as folder:
        empty = ConversationInput([], case="healthcheck")
        values = values_for(empty, start, folder, os.path.join(folder, "output.json"))
        finished = start.run(line, values, cwd, timeout)
    if finished.exit_code:
        said = said_last(finished.stderr.strip() or finished.stdout, start.setting.redactor.mask)
        raise cannot(
            "BK797", f"{what} ended with exit code {finished.exit_code}{said}", "start what it needs"
        )


ROW = Row(check_cli, replay_cli, batch=batch_key)
