"""A target that is a program: a command line with placeholders for the question, its files and the answer."""

import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any, Literal

from baselinekit.clients.programs.children import (
    SHELL,
    child_environment,
    configured_argv,
    last_error_line,
    needs_shell,
    program_at,
)
from baselinekit.errors import (
    BaselinekitError,
    CannotReplay,
    InvalidInput,
    Problem,
    Refused,
    cannot_replay,
    describe_exit,
    suggest,
)
from baselinekit.files.jsontext import NotJson, decode, to_bytes
from baselinekit.kinds.files import inside, read_if_there
from baselinekit.kinds.http import HTTP, HttpExecution
from baselinekit.kinds.kind import Family
from baselinekit.kinds.messages import (
    ConversationInput,
    ConversationKind,
    StatedConversation,
    answer_of_text,
    answer_of_value,
    is_structured,
    plain_text,
    prompt_of,
    question_as_json,
)
from baselinekit.kinds.settings import EXECUTION, INPUT, Setting, check_defined, invalid, is_named
from baselinekit.lazy import lazy_pattern
from baselinekit.model.recipes import HttpRequest, Observation, ProcessResult, ProcessSpec, Recipe, Seconds
from baselinekit.model.values import Path
from baselinekit.secrets.variables import Scope, as_text, replace_variables
from baselinekit.structs import Struct, field, replace

PLACEHOLDERS = ("PROMPT", "PROMPT_FILE", "GUIDELINES", "EVAL_ID", "ATTEMPT", "FILES", "OUTPUT_FILE")
"""The placeholders that a command line may hold, in braces."""
PLACEHOLDER = lazy_pattern(r"(?!(?<=\{)\{[A-Z_]+\}\})\{([A-Z_]+)\}")
"""Matches one of them; `{{NAME}}` is a variable."""


class Healthcheck(Struct):
    """What must work before the first request to the target in a run: an address that responds with success,
    or a command that ends with exit code 0."""

    url: str | None = None
    command: str | list[str] | None = None
    cwd: str | None = None
    timeout: Seconds | None = None


class CliExecution(Struct):
    """A program: its command line as one text or word by word. `{PROMPT}` is the question, `{FILES}` each
    file as `files_format` says (`{path}`, `{basename}`), `{OUTPUT_FILE}` the file for its answer; without it,
    the answer is its standard output. `env`: variables that it gets besides the usual ones. `retries`: how
    often it is run again after a timeout. `batch`: the program is started once for all cases, and writes a
    line of JSON for each, by its id."""

    type: Literal["cli"]
    command: str | list[str]
    files_format: str = "{path}"
    cwd: str | None = None
    env: list[str] = field(default_factory=list)
    timeout: Seconds | None = None
    retries: int | None = None
    batch: bool = False
    healthcheck: Healthcheck | None = None
    serial: bool | None = None
    resource: str | None = None
    target: str = ""


class CliCurrent(Struct):
    """`current:` with a program that is sent messages."""

    input: StatedConversation | str
    execution: CliExecution


def check_cli(execution: CliExecution, at: Path) -> Iterator[Problem]:
    """Return the problems of a command line that its types do not show."""
    lines = [(execution.command, (*at, "command"))]
    if execution.healthcheck is not None:
        place = (*at, "healthcheck")
        lines.append((execution.healthcheck.command or ["-"], (*place, "command")))
        if (execution.healthcheck.url is None) is (execution.healthcheck.command is None):
            message = "a healthcheck has a `url` or a `command`"
            yield Problem("BK108", message, "such as healthcheck: {command: mytool --version}", at=place)
    for line, place in lines:
        words = [line] if isinstance(line, str) else line
        if not words or not words[0].strip():
            yield Problem("BK108", "the command line names no program", "such as `mytool {PROMPT}`", at=place)
        for name in dict.fromkeys(name for word in words for name in PLACEHOLDER.findall(word)):
            if name not in PLACEHOLDERS:
                placeholders = f"there are {', '.join(f'{{{placeholder}}}' for placeholder in PLACEHOLDERS)}"
                hint = suggest(name, PLACEHOLDERS) or placeholders
                yield Problem("BK791", f"unknown placeholder {{{name}}} in the command line", hint, at=place)


_TIMEOUT = 120.0
_HEALTH_TIMEOUT = 30.0
_MAX_ANSWER = 10_000_000
_LONGEST_WORD = 131_071
"""The bytes of one word of a command line: the operating system accepts no longer one."""
_TIMED_OUT = "BK321"
_LEADING_PLACEHOLDER = lazy_pattern(r"\s*\{(_+)\}(?=\s|$)")
_HARMLESS = lazy_pattern(r"[\w@%+=:,./ -]*", re.ASCII)
"""A text that means the same within quotes of either kind."""


class CommandLine(Struct):
    """A command line before its placeholders are filled in. `argv`: its words, where no shell is needed;
    `text`: the whole line, for a shell; `variables`: the values of its variables, by placeholder."""

    argv: tuple[str, ...] = ()
    text: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)


# How the program is started: whether it is allowed, in which folder, with which environment.


class _ProgramTarget(Struct):
    """A target that is a program. `recipe`: unexpanded, to tell whether the operator states the target."""

    recipe: Recipe
    execution: CliExecution
    setting: Setting

    @property
    def source(self) -> str:
        return CLI.whom(self.recipe)

    @property
    def is_named(self) -> bool:
        return is_named(self.recipe, self.setting)

    def working_folder(self, cwd: str | None) -> str:
        """Return where the program is started: `cwd`, relative to the folder of the baseline's file. Only the
        operator and the configuration may name a folder outside the project."""
        surroundings = self.setting.surroundings
        path = os.path.join(surroundings.folder, cwd or ".")
        path = os.path.realpath(path) if self.is_named else inside(surroundings, cwd or ".")
        if not os.path.isdir(path):
            raise invalid(
                "BK320", f"the working folder {cwd!r} does not exist", "correct `cwd`", (*EXECUTION, "cwd")
            )
        return path

    def command_line(self, command: str | Sequence[str], at: Path, cwd: str) -> CommandLine:
        """Return the command line with its program's full path; Refused where that is not allowed."""
        line = read_command(command, self.setting.scope, at)
        surroundings = self.setting.surroundings
        if line.text:
            if not self.is_named:
                self.check_allowed(SHELL, at)
            return line
        first = PLACEHOLDER.sub(lambda match: line.variables.get(match[1], match[0]), line.argv[0])
        configured = None if self.is_named else surroundings.commands.get(first)
        if configured is not None:
            hint = f"correct `commands: {first}:` in baselinekit.yaml, or install it"
            missing = [name for name in self.execution.env if name not in configured.env]
            if missing and not self.setting.trust.allow_exec:
                names = ", ".join(missing)
                message = f"the configuration does not allow files to hand {names} to this program"
                raise Refused(Problem("BK340", message, "list it under `env:` of its command", at=at))
            program_argv = configured_argv(configured.argv, surroundings.root, hint)
            return replace(line, argv=(*program_argv, *line.argv[1:]))
        if not self.is_named:
            self.check_allowed(first, at)
        try:
            program = program_at(first, cwd, "install it, or correct its name")
        except BaselinekitError as error:
            raise InvalidInput(*(replace(problem, at=at) for problem in error.problems)) from None
        return replace(line, argv=(program, *line.argv[1:]))

    def check_allowed(self, program: str, at: Path) -> None:
        """Refuse the program, unless the operator allows everything."""
        try:
            self.setting.trust.check_program(program)
        except Refused:
            hint = (
                "name the file of the targets yourself (--targets FILE, or `targets: FILE` in "
                "baselinekit.yaml), list the program under `commands:`, or pass --allow-exec"
            )
            owner = f"the target {self.execution.target}" if self.execution.target else "the target"
            message = f"{owner} runs {program!r}, which is not named in {self.setting.trust.configuration}"
            raise Refused(Problem("BK403", message, hint, at=at)) from None

    def run(
        self, line: CommandLine, values: "Values", cwd: str, timeout: float, stdin: bytes = b""
    ) -> ProcessResult:
        values = replace(values, texts={**values.texts, **line.variables})
        argv = (SHELL, "-c", values.in_shell(line.text)) if line.text else tuple(values.in_words(line.argv))
        longest = max(argv, key=lambda word: len(word.encode("utf-8", "surrogatepass")))
        if len(longest.encode("utf-8", "surrogatepass")) > _LONGEST_WORD:
            message = (
                f"{self.source}: the question is too long for a command line ({len(longest):,} characters)"
            )
            raise cannot_replay("BK793", message, "let it read {PROMPT_FILE} instead of {PROMPT}")
        if any("\0" in word for word in argv):
            message = f"{self.source}: the question holds a NUL character"
            raise cannot_replay("BK793", message, "remove it, or use {PROMPT_FILE}")
        return self.setting.clients.execute(
            ProcessSpec(
                argv=argv,
                stdin=stdin,
                env=child_environment(self.execution.env),
                cwd=cwd,
                timeout=timeout,
                max_stdout=_MAX_ANSWER,
                mask=self.setting.redactor.mask,
            )
        )


# A command line, and the values that are filled in.


def read_command(command: str | Sequence[str], scope: Scope, at: Path) -> CommandLine:
    """Read a command line with a placeholder for each of its variables. The value of a variable is one word
    and is not expanded again. Only a variable at the start may hold a program with its arguments."""
    names, values = dict[str, str](), dict[str, str]()

    def add_placeholder(name: str, value: str | None = None) -> str:
        key = "_" * (len(values) + 1)
        names[key] = name
        values[key] = as_text(scope.lookup(name, at)) if value is None else value
        return f"{{{key}}}"

    if not isinstance(command, str):
        return CommandLine(
            tuple(replace_variables(word, add_placeholder) for word in command), variables=values
        )
    text = replace_variables(command, add_placeholder)
    if first := _LEADING_PLACEHOLDER.match(text):
        with suppress(ValueError):  # an unclosed quote: then it is one word
            words = shlex.split(values[first[1]])
            if words:
                placeholders = " ".join(add_placeholder(names[first[1]], word) for word in words)
                text = placeholders + text[first.end() :]
    for placeholder in PLACEHOLDER.finditer(split_quotes(text, at)[1]):
        if placeholder[1] in values and _HARMLESS.fullmatch(values[placeholder[1]]):
            text = text.replace(placeholder[0], values[placeholder[1]])
    return replace(read_line(text, at, names), variables=values)


def read_line(command: str, at: Path, variables: Mapping[str, str] | None = None) -> CommandLine:
    """Read a command line. InvalidInput where it ends within quotes, or where a value would be put between
    quotes of a shell, which the value could close."""
    bare, quoted = split_quotes(command, at)
    if not needs_shell(PLACEHOLDER.sub("", bare)):
        return CommandLine(tuple(shlex.split(command)))
    if placeholder := PLACEHOLDER.search(quoted):
        variable = (variables or {}).get(placeholder[1])
        shown = placeholder[0] if variable is None else f"{{{{{variable}}}}}"
        hint = f"write {shown} without quotes: it is quoted when it is filled in"
        raise invalid("BK791", f"{shown} stands between quotes of a shell", hint, at)
    return CommandLine(text=command)


def split_quotes(command: str, at: Path) -> tuple[str, str]:
    """Return the text outside of quotes, and the text within them. Characters that keep their meaning within
    double quotes are in both."""
    bare, quoted, quote = [], [], ""
    for char in command:
        if quote:
            if char == quote:
                quote = ""
            else:
                quoted.append(char)
                bare += [char] if quote == '"' and char in "$`\\" else []
        elif char in "'\"":
            quote = char
        else:
            bare.append(char)
    if quote:
        raise invalid("BK791", "the command line ends within quotes", "close them", at)
    return "".join(bare), "".join(quoted)


class Values(Struct):
    """The values of the placeholders. Each is filled in once; placeholders within a question stay."""

    texts: Mapping[str, str]
    files: Sequence[str]
    files_format: str

    def in_words(self, words: Sequence[str]) -> Iterator[str]:
        for word in words:
            if word == "{FILES}":
                for path in self.files:
                    for part in shlex.split(self.files_format):
                        yield _format_file(part, path, str)
            else:
                yield PLACEHOLDER.sub(lambda match: self._text(match, str), word)

    def in_shell(self, text: str) -> str:
        return PLACEHOLDER.sub(lambda match: self._text(match, shlex.quote), text)

    def _text(self, match: re.Match[str], quote: Callable[[str], str]) -> str:
        if match[1] == "FILES":
            return " ".join(_format_file(self.files_format, path, quote) for path in self.files)
        return quote(self.texts[match[1]]) if match[1] in self.texts else match[0]


def _format_file(template: str, path: str, quote: Callable[[str], str]) -> str:
    values = {"{path}": path, "{basename}": os.path.basename(path)}
    return re.sub(r"\{path\}|\{basename\}", lambda match: quote(values[match[0]]), template)


def values_for(conversation: ConversationInput, target: _ProgramTarget, folder: str, output: str) -> Values:
    """Return the value of each placeholder of a command line; the question is written into `folder`."""
    question = prompt_of(with_given_files_by_name(conversation, target.recipe.execution.command))
    prompt_file = os.path.join(folder, "prompt.txt")
    with open(prompt_file, "w", encoding="utf-8", errors="surrogatepass", newline="") as file:
        file.write(question)
    texts = {
        "PROMPT": question,
        "PROMPT_FILE": prompt_file,
        "GUIDELINES": guidelines_of(conversation),
        "EVAL_ID": conversation.case or target.setting.asker,
        "ATTEMPT": str(target.setting.turn),
        "OUTPUT_FILE": output,
    }
    return Values(texts, [*dict.fromkeys(conversation.input_files)], target.execution.files_format)


def with_given_files_by_name(
    conversation: ConversationInput, command: str | Sequence[str]
) -> ConversationInput:
    """Return the question with only the names of those files that the command line passes in another way."""
    line = command if isinstance(command, str) else " ".join(command)
    given = {*(conversation.input_files if "{FILES}" in line else ())}
    given |= {*(conversation.guideline_files if "{GUIDELINES}" in line else ())}

    def by_name(part: Any) -> Any:
        is_given = isinstance(part, dict) and part.get("path") in given
        return {"type": "text", "value": f"<file: {part.get('value')}>"} if is_given else part

    messages = [
        replace(message, content=[by_name(part) for part in message.content])
        if isinstance(message.content, list)
        else message
        for message in conversation.messages
    ]
    return replace(conversation, messages=messages)


def guidelines_of(conversation: ConversationInput) -> str:
    """Return the texts of the guideline files that the messages name."""
    contents = [message.content for message in conversation.messages if isinstance(message.content, list)]
    parts = [part for content in contents for part in content if isinstance(part, dict)]
    rules = [part for part in parts if part.get("path") in conversation.guideline_files]
    return plain_text(rules) if rules else ""


# One question, or all of them at once.


def ask_alone(conversation: ConversationInput, target: _ProgramTarget) -> Observation:
    """Ask one question, again after a timeout, as often as `retries` of the target says."""
    for attempt in range(1, (target.execution.retries or 0) + 2):
        try:
            text, seconds = read_written_answer(conversation, target, ".json")
        except CannotReplay as error:
            if attempt > (target.execution.retries or 0) or error.problems[0].code != _TIMED_OUT:
                raise
        else:
            return replace(answer_of_text(text, seconds, target.source), attempts=attempt)
    raise AssertionError("the last try returns or raises")


def ask_together(target: _ProgramTarget) -> dict[str, Observation | Problem]:
    """Ask about all cases in one run; return the answers by case id. An unusable line fails all cases."""
    questions: list[tuple[str, ConversationInput]] = list(
        target.setting.clients.batches.get(CLI.batch(target.recipe) or "", ())
    )
    scope = target.setting.scope
    cases = [(name, scope.expand(conversation)) for name, conversation in questions]
    files = [path for _, conversation in cases for path in conversation.input_files]
    lines = [to_bytes(question_as_json(case, name)) for name, case in cases]
    batch = ConversationInput([], [], files, "batch")
    text, seconds = read_written_answer(batch, target, ".jsonl", b"".join(line + b"\n" for line in lines))
    return answers_of_lines(text, seconds / max(len(cases), 1), target.source)


def answers_of_lines(text: str, seconds: float, source: str) -> dict[str, Observation | Problem]:
    """Read answers in JSON Lines, by id. `seconds`: the time for answers that do not state their own."""
    answers: dict[str, Observation | Problem] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        where = f"{source}: line {number} of its answer"
        try:
            row: Any = decode(line)
        except NotJson as error:
            raise cannot_replay("BK796", f"{where} is not JSON: {error}") from None
        name = row.get("id") if isinstance(row, dict) else None
        if not isinstance(name, str) or not name.strip():
            raise cannot_replay("BK796", f"{where} has no `id`", "write {id, text} for each case")
        if name in answers:
            message, hint = f"{source} answered {name} twice", "write one line for each case"
            answers[name] = Problem("BK796", message, hint)
        elif not is_structured(row):
            message = f"{source} gave {name} neither a `text` nor `output_messages`"
            answers[name] = Problem("BK796", message, "write {id, text} or {id, output_messages}")
        else:
            try:
                answers[name] = answer_of_value(row, seconds, source)
            except CannotReplay as error:
                answers[name] = error.problems[0]
    return answers


def read_written_answer(
    conversation: ConversationInput, target: _ProgramTarget, suffix: str, stdin: bytes = b""
) -> tuple[str, float]:
    """Run the program; return what it wrote to {OUTPUT_FILE} if its command line has that, else to stdout."""
    execution = target.execution
    cwd = target.working_folder(execution.cwd)
    line = target.command_line(target.recipe.execution.command, (*EXECUTION, "command"), cwd)
    timeout = float(_TIMEOUT if execution.timeout is None else execution.timeout)
    with _temporary_folder() as folder:
        output = os.path.join(folder, f"output{suffix}")
        finished = target.run(line, values_for(conversation, target, folder, output), cwd, timeout, stdin)
        mask = target.setting.redactor.mask
        if finished.exit_code:
            last_words = last_error_line(finished.stderr.strip() or finished.stdout, mask)
            message = f"{target.source} {describe_exit(finished.exit_code)}{last_words}"
            raise cannot_replay("BK790", message, "run its command line by hand")
        content = finished.stdout
        if "{OUTPUT_FILE}" in (line.text or "\0".join(line.argv)):
            surroundings = replace(target.setting.surroundings, root=folder, folder=folder, within="")
            written = read_if_there(surroundings, os.path.basename(output))
            if written is None:
                last_words = last_error_line(finished.stderr, mask)
                message = f"{target.source} wrote nothing into {{OUTPUT_FILE}}{last_words}"
                raise cannot_replay("BK790", message, "let it write its answer there")
            content = written
    try:
        return content.decode("utf-8-sig"), finished.seconds
    except UnicodeDecodeError:
        message = f"{target.source} did not answer in UTF-8 text"
        raise cannot_replay("BK790", message, "let it write text or JSON") from None


def _temporary_folder() -> AbstractContextManager[str]:
    from tempfile import TemporaryDirectory  # slow to import: it loads every archive format

    return TemporaryDirectory(prefix="baselinekit-")


# The healthcheck, once in a run.


def check_health(health: Healthcheck, target: _ProgramTarget) -> None:
    """CannotReplay where the healthcheck fails."""
    timeout = float(health.timeout or target.execution.timeout or _HEALTH_TIMEOUT)
    failing = f"{target.source} does not work: its healthcheck"
    if health.url is not None:
        request = Recipe(HttpRequest("GET", url=health.url, timeout=timeout), HttpExecution("http"))
        try:
            status = HTTP.replay(request, target.setting).output["status"]
        except CannotReplay as error:
            message = f"{failing} failed: {error.problems[0].message}"
            raise cannot_replay("BK797", message, "start what it needs") from None
        if not 200 <= status < 300:
            raise cannot_replay(
                "BK797", f"{failing} was answered with status {status}", "start what it needs"
            )
        return
    cwd = target.working_folder(health.cwd or target.execution.cwd)
    command = target.recipe.execution.healthcheck.command or []
    line = target.command_line(command, (*EXECUTION, "healthcheck", "command"), cwd)
    with _temporary_folder() as folder:
        empty = ConversationInput([], case="healthcheck")
        values = values_for(empty, target, folder, os.path.join(folder, "output.json"))
        finished = target.run(line, values, cwd, timeout)
    if finished.exit_code:
        last_words = last_error_line(finished.stderr.strip() or finished.stdout, target.setting.redactor.mask)
        message = f"{failing} ended with exit code {finished.exit_code}{last_words}"
        raise cannot_replay("BK797", message, "start what it needs")


class CliKind(ConversationKind):
    name = "cli"
    execution = CliExecution
    currents = (CliCurrent,)
    asks_models = "sometimes"
    names_target = "command: …"

    def check(self, recipe: Recipe) -> Iterator[Problem]:
        yield from check_cli(recipe.execution, EXECUTION)
        for number, message in enumerate(recipe.input.messages):
            if message.tool_calls:
                problem = f"the tool calls of message {number + 1} cannot be sent to a program as text"
                at = (*INPUT, "messages", number, "tool_calls")
                yield Problem("BK781", problem, "write them into its content, or use a service", at=at)
        yield from super().check(recipe)

    def asks(self, recipe: Recipe) -> tuple[Family, str]:
        command = recipe.execution.command
        words = command.split() if isinstance(command, str) else command
        return "commands", words[0] if words else ""

    def replay(self, recipe: Recipe, setting: Setting) -> Observation:
        execution: CliExecution = setting.scope.expand(recipe.execution, EXECUTION)
        conversation: ConversationInput = setting.scope.expand(recipe.input, INPUT)
        target = _ProgramTarget(recipe, execution, setting)
        if (health := execution.healthcheck) is not None:
            health_key = ("healthcheck", repr(health), target.is_named, setting.surroundings.folder)
            setting.clients.once.get(health_key, lambda: check_health(health, target))
        if not execution.batch:
            return ask_alone(conversation, target)
        case_ids = tuple(name for name, _ in setting.clients.batches.get(self.batch(recipe) or "", ()))
        where = (target.is_named, setting.surroundings.folder, setting.turn)
        key = ("batch", repr(execution), *where, case_ids)
        answers: Mapping[str, Observation | Problem] = setting.clients.once.get(
            key, lambda: ask_together(target)
        )
        name = conversation.case or setting.asker
        answer = answers.get(name, answers.get(setting.asker))
        if answer is None:
            raise cannot_replay(
                "BK796", f"{target.source} gave no answer for {name}", "it writes a line for each id"
            )
        if isinstance(answer, Problem):
            raise CannotReplay(answer)
        return answer

    def check_replay(self, recipe: Recipe, setting: Setting) -> None:
        """Refuse undefined variables, unsafe command lines, and programs that may not run."""
        check_defined(recipe, setting)
        execution: CliExecution = setting.scope.expand(recipe.execution, EXECUTION)
        target = _ProgramTarget(recipe, execution, setting)
        folder = target.working_folder(execution.cwd)
        target.command_line(recipe.execution.command, (*EXECUTION, "command"), folder)
        health = recipe.execution.healthcheck
        if health is not None and health.command is not None:
            at = (*EXECUTION, "healthcheck", "command")
            cwd = setting.scope.expand(health.cwd) or execution.cwd
            target.command_line(health.command, at, target.working_folder(cwd))

    def batch(self, recipe: Recipe) -> str | None:
        """Return a key shared by all recipes that one run of the program answers; None without `batch`."""
        return repr(replace(recipe.execution, timeout=None)) if recipe.execution.batch else None


CLI = CliKind()
