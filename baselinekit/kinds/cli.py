"""A target with a command line, with placeholders for the question, its files and the answer."""

import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

from baselinekit.clients.programs.children import SHELL, child_environment, last_error_line, needs_shell
from baselinekit.errors import (
    CannotReplay,
    InvalidInput,
    Problem,
    Refused,
    cannot_replay,
    describe_exit,
    suggest,
)
from baselinekit.files.jsontext import NotJson, decode, to_bytes
from baselinekit.kinds.command import program_words, working_folder
from baselinekit.kinds.files import read_if_there
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
from baselinekit.kinds.settings import EXECUTION, INPUT, Setting, invalid, is_named
from baselinekit.lazy import lazy_pattern
from baselinekit.model.recipes import HttpRequest, Observation, ProcessSpec, Recipe
from baselinekit.model.values import Path
from baselinekit.secrets.variables import Scope, as_text, replace_variables
from baselinekit.structs import Count, Name, Struct, TimeLimit, field, replace

PLACEHOLDERS = ("PROMPT", "PROMPT_FILE", "GUIDELINES", "EVAL_ID", "ATTEMPT", "FILES", "OUTPUT_FILE")
"""The placeholders that a command line may hold, in braces."""
PLACEHOLDER_FORM = r"(?!(?<=\{)\{[A-Z_]+\}\})\{([A-Z_]+)\}"
"""Matches one of them; `{{NAME}}` is a variable."""


class Healthcheck(Struct):
    """What must work before the first request to the target in a run: an address that responds with success,
    or a command that ends with exit code 0."""

    url: str | None = None
    command: str | list[str] | None = None
    cwd: str | None = None
    timeout: TimeLimit | None = None


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
    timeout: TimeLimit | None = None
    retries: Count | None = None
    batch: bool = False
    healthcheck: Healthcheck | None = None
    serial: bool | None = None
    resource: Name | None = None
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
        for name in dict.fromkeys(name for word in words for name in re.findall(PLACEHOLDER_FORM, word)):
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


# A command line, and the values that are filled in. A variable is kept as `\0number:name\0`, which no text
# can hold, so that its value is one word and is not looked at again.

_FILLED = lazy_pattern(rf"\0([^\0]+)\0|{PLACEHOLDER_FORM}")
_QUOTES = lazy_pattern(r"'[^']*'|\"[^\"]*\"")


class CommandLine(Struct):
    """The words of a command line, or its `text` if it is one for a shell; the values of its variables."""

    words: list[str]
    text: str
    values: dict[str, str]


def read_command(command: str | Sequence[str], scope: Scope, at: Path) -> CommandLine:
    """Read a command line. InvalidInput where it ends within quotes, or where a value would be put between
    quotes of a shell, which the value could close."""
    values: dict[str, str] = {}

    def keep(name: str) -> str:
        key = f"{len(values)}:{name}"
        values[key] = as_text(scope.lookup(name, at))
        return f"\0{key}\0"

    if not isinstance(command, str):
        return CommandLine([replace_variables(word, keep) for word in command], "", values)
    text = replace_variables(command, keep)
    quotes, bare = _QUOTES.findall(text), _QUOTES.sub("", text)
    if "'" in bare or '"' in bare:
        raise invalid("BK791", "the command line ends within quotes", "close them", at)
    expanded = "".join(quote for quote in quotes if quote[0] == '"')  # by a shell
    if not needs_shell(_FILLED.sub("", bare)) and not re.search(r"[$`\\]", expanded):
        return CommandLine(shlex.split(text), "", values)
    if found := _FILLED.search(" ".join(quotes)):
        shown = f"{{{{{found[1].partition(':')[2]}}}}}" if found[1] else found[0]
        hint = f"write {shown} without quotes: it is quoted when it is filled in"
        raise invalid("BK791", f"{shown} stands between quotes of a shell", hint, at)
    return CommandLine([], text, values)


class CommandValues(Struct):
    """The values of the placeholders and variables. Each is filled in once; placeholders within a question
    stay."""

    texts: Mapping[str, str]
    files: Sequence[str] = ()
    files_format: str = ""

    def fill(self, text: str, quote: Callable[[str], str] = str) -> str:
        def value(match: re.Match[str]) -> str:
            name = match[1] or match[2]
            if name == "FILES":
                return " ".join(self.file(self.files_format, path, quote) for path in self.files)
            return quote(self.texts[name]) if name in self.texts else match[0]

        return _FILLED.sub(value, text)

    def file(self, template: str, path: str, quote: Callable[[str], str] = str) -> str:
        values = {"{path}": path, "{basename}": os.path.basename(path)}
        return re.sub(r"\{path\}|\{basename\}", lambda match: quote(values[match[0]]), template)

    def argv(self, line: CommandLine) -> list[str]:
        if line.text:
            return [SHELL, "-c", self.fill(line.text, shlex.quote)]
        parts = shlex.split(self.files_format)
        files = [self.file(part, path) for path in self.files for part in parts]
        argv = ([self.fill(word)] if word != "{FILES}" else files for word in line.words)
        return [word for words in argv for word in words]


def _with_given_files_by_name(
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


def _guidelines_of(conversation: ConversationInput) -> str:
    """Return the texts of the guideline files that the messages name."""
    contents = [message.content for message in conversation.messages if isinstance(message.content, list)]
    parts = [part for content in contents for part in content if isinstance(part, dict)]
    rules = [part for part in parts if part.get("path") in conversation.guideline_files]
    return plain_text(rules) if rules else ""


# The program: whether it is allowed, in which folder it is started, and what it is asked.


class _ProgramTarget(Struct):
    """`recipe`: unexpanded, to tell whether the operator states the target."""

    recipe: Recipe
    execution: CliExecution
    setting: Setting

    @property
    def source(self) -> str:
        return CLI.whom(self.recipe)

    @property
    def is_named(self) -> bool:
        return is_named(self.recipe, self.setting)

    def command_line(
        self, command: str | Sequence[str], at: Path, cwd: str | None
    ) -> tuple[CommandLine, str]:
        """Return the command line with its program's full path, and the folder where it is started; Refused
        where that is not allowed. Only the operator and the configuration may name any program, and a folder
        outside the project."""
        setting, line = self.setting, read_command(command, self.setting.scope, at)
        first = SHELL if line.text else CommandValues(line.values).fill(line.words[0])
        configured = None if self.is_named else setting.surroundings.commands.get(first)
        missing = [name for name in self.execution.env if configured and name not in configured.env]
        if missing and not setting.trust.allow_exec:
            message = f"the configuration does not allow files to hand {', '.join(missing)} to this program"
            raise Refused(Problem("BK340", message, "list it under `env:` of its command", at=at))
        if not configured and not self.is_named and not setting.trust.allow_exec:
            hint = (
                "name the file of the targets yourself (--targets FILE, or `targets: FILE` in "
                "baselinekit.yaml), list the program under `commands:`, or pass --allow-exec"
            )
            owner = f"the target {self.execution.target}" if self.execution.target else "the target"
            message = f"{owner} runs {first!r}, which is not named in {setting.trust.configuration}"
            raise Refused(Problem("BK403", message, hint, at=at))
        try:
            folder = working_folder(setting, cwd, self.is_named)
            words = [] if line.text else program_words(first, folder, setting, self.is_named)
        except CannotReplay as error:
            raise InvalidInput(*(replace(problem, at=at) for problem in error.problems)) from None
        return replace(line, words=[*words, *line.words[1:]]), folder

    def run(
        self,
        prepared: tuple[CommandLine, str],
        conversation: ConversationInput,
        timeout: float,
        failure: tuple[str, str, str],
        suffix: str = ".json",
        stdin: bytes = b"",
    ) -> tuple[str, float]:
        """Run the program; return what it wrote to {OUTPUT_FILE} if its command line has that, else to
        stdout. `failure`: the code, the subject and the hint of the error for another exit code than 0."""
        from tempfile import TemporaryDirectory  # slow to import: it loads every archive format

        line, cwd = prepared
        question = prompt_of(_with_given_files_by_name(conversation, self.recipe.execution.command))
        files, mask = [*dict.fromkeys(conversation.input_files)], self.setting.redactor.mask
        with TemporaryDirectory(prefix="baselinekit-") as folder:
            prompt_file = os.path.join(folder, "prompt.txt")
            with open(prompt_file, "w", encoding="utf-8", errors="surrogatepass", newline="") as file:
                file.write(question)
            texts = {
                **line.values,
                "PROMPT": question,
                "PROMPT_FILE": prompt_file,
                "GUIDELINES": _guidelines_of(conversation),
                "EVAL_ID": conversation.case or self.setting.asker,
                "ATTEMPT": str(self.setting.turn),
                "OUTPUT_FILE": os.path.join(folder, f"output{suffix}"),
            }
            argv = CommandValues(texts, files, self.execution.files_format).argv(line)
            size = max(len(word.encode("utf-8", "surrogatepass")) for word in argv)
            if size > _LONGEST_WORD or any("\0" in word for word in argv):
                message = f"{self.source}: the question does not fit into a command line ({size:,} bytes)"
                raise cannot_replay("BK793", message, "let it read {PROMPT_FILE} instead of {PROMPT}")
            env = child_environment(self.execution.env)
            spec = ProcessSpec(tuple(argv), stdin, env, cwd, timeout, _MAX_ANSWER, mask=mask)
            finished = self.setting.clients.execute(spec)
            if finished.exit_code:
                code, subject, hint = failure
                last_words = last_error_line(finished.stderr.strip() or finished.stdout, mask)
                raise cannot_replay(code, f"{subject} {describe_exit(finished.exit_code)}{last_words}", hint)
            content: bytes | None = finished.stdout
            if "{OUTPUT_FILE}" in (line.text or "\0".join(line.words)):
                surroundings = replace(self.setting.surroundings, root=folder, folder=folder, within="")
                content = read_if_there(surroundings, f"output{suffix}")
        if content is None:
            message = (
                f"{self.source} wrote nothing into {{OUTPUT_FILE}}{last_error_line(finished.stderr, mask)}"
            )
            raise cannot_replay("BK790", message, "let it write its answer there")
        try:
            return content.decode("utf-8-sig"), finished.seconds
        except UnicodeDecodeError:
            message = f"{self.source} did not answer in UTF-8 text"
            raise cannot_replay("BK790", message, "let it write text or JSON") from None

    def ask(
        self, conversation: ConversationInput, suffix: str = ".json", stdin: bytes = b""
    ) -> tuple[str, float]:
        line = self.command_line(self.recipe.execution.command, (*EXECUTION, "command"), self.execution.cwd)
        timeout = float(_TIMEOUT if self.execution.timeout is None else self.execution.timeout)
        failure = "BK790", self.source, "run its command line by hand"
        return self.run(line, conversation, timeout, failure, suffix, stdin)

    def ask_alone(self, conversation: ConversationInput) -> Observation:
        """Ask one question, again after a timeout, as often as `retries` of the target says."""
        for attempt in range(1, (self.execution.retries or 0) + 2):
            try:
                text, seconds = self.ask(conversation)
                break
            except CannotReplay as error:
                if attempt > (self.execution.retries or 0) or error.problems[0].code != _TIMED_OUT:
                    raise
        return replace(answer_of_text(text, seconds, self.source), attempts=attempt)

    def ask_together(self, questions: Sequence[tuple[str, Any]]) -> dict[str, Observation | Problem]:
        """Ask about all cases in one run; return the answers by case id. An unusable line fails all cases."""
        cases = [(name, self.setting.scope.expand(conversation)) for name, conversation in questions]
        files = [path for _, conversation in cases for path in conversation.input_files]
        stdin = b"".join(to_bytes(question_as_json(case, name)) + b"\n" for name, case in cases)
        text, seconds = self.ask(ConversationInput([], [], files, "batch"), ".jsonl", stdin)
        answers: dict[str, Observation | Problem] = {}
        for number, line in enumerate(text.split("\n"), 1):
            if not line.strip():
                continue
            try:
                row: Any = decode(line)
            except NotJson:
                row = None
            name = row.get("id") if isinstance(row, dict) else None
            if not isinstance(name, str) or not name.strip():
                message = f"{self.source}: line {number} of its answer is not JSON with an `id`"
                raise cannot_replay("BK796", message, "write {id, text} for each case")
            try:
                if name in answers or not is_structured(row):
                    fault = f"answered {name} twice" if name in answers else f"gave {name} no `text`"
                    hint = "write one line for each case, {id, text} or {id, output_messages}"
                    raise cannot_replay("BK796", f"{self.source} {fault}", hint)
                answers[name] = answer_of_value(row, seconds / max(len(cases), 1), self.source)
            except CannotReplay as error:
                answers[name] = error.problems[0]
        return answers

    def check_health(self, health: Healthcheck) -> None:
        """CannotReplay where the healthcheck fails."""
        timeout = float(health.timeout or self.execution.timeout or _HEALTH_TIMEOUT)
        failing, hint = f"{self.source} does not work: its healthcheck", "start what it needs"
        if health.url is None:
            talk, failure = ConversationInput([], case="healthcheck"), ("BK797", failing, hint)
            self.run(self.health_line(health), talk, timeout, failure)
            return
        request = Recipe(HttpRequest("GET", url=health.url, timeout=timeout), HttpExecution("http"))
        try:
            status = HTTP.replay(request, self.setting).output["status"]
        except CannotReplay as error:
            raise cannot_replay("BK797", f"{failing} failed: {error.problems[0].message}", hint) from None
        if not 200 <= status < 300:
            raise cannot_replay("BK797", f"{failing} was answered with status {status}", hint)

    def health_line(self, health: Healthcheck) -> tuple[CommandLine, str]:
        command = self.recipe.execution.healthcheck.command or []
        at = (*EXECUTION, "healthcheck", "command")
        return self.command_line(command, at, health.cwd or self.execution.cwd)


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
        target, once = _ProgramTarget(recipe, execution, setting), setting.clients.once
        where = target.is_named, setting.surroundings.folder
        if (health := execution.healthcheck) is not None:
            once.get(("healthcheck", repr(health), *where), lambda: target.check_health(health))
        if not execution.batch:
            return target.ask_alone(conversation)
        questions = setting.clients.batches.get(self.batch(recipe) or "", ())
        key = ("batch", repr(execution), *where, setting.turn, tuple(name for name, _ in questions))
        answers: Mapping[str, Observation | Problem] = once.get(key, lambda: target.ask_together(questions))
        name = conversation.case or setting.asker
        answer = answers.get(name, answers.get(setting.asker))
        if answer is None:
            message = f"{target.source} gave no answer for {name}"
            raise cannot_replay("BK796", message, "it writes a line for each id")
        if isinstance(answer, Problem):
            raise CannotReplay(answer)
        return answer

    def check_replay(self, recipe: Recipe, setting: Setting) -> None:
        """Refuse undefined variables, unsafe command lines, and programs that may not run."""
        super().check_replay(recipe, setting)
        execution: CliExecution = setting.scope.expand(recipe.execution, EXECUTION)
        target = _ProgramTarget(recipe, execution, setting)
        target.command_line(recipe.execution.command, (*EXECUTION, "command"), execution.cwd)
        if execution.healthcheck is not None and execution.healthcheck.command is not None:
            target.health_line(execution.healthcheck)

    def batch(self, recipe: Recipe) -> str | None:
        """Return a key shared by all recipes that one run of the program answers; None without `batch`."""
        return repr(replace(recipe.execution, timeout=None)) if recipe.execution.batch else None


CLI = CliKind()
