"""Programs: a command that the configuration names, compared with its exit code, and a target with a command
line, with placeholders for the question, its files and the answer (cli)."""

import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from baselinekit.clients.programs import children
from baselinekit.clients.trust import Trust
from baselinekit.errors import CannotReplay, InvalidInput, Problem, Refused, cannot_replay, describe_exit
from baselinekit.files.jsontext import NotJson, decode, json_or_absent, to_bytes
from baselinekit.kinds import http, messages
from baselinekit.kinds.bodies import text_or_hash
from baselinekit.kinds.files import inside, read_if_there
from baselinekit.kinds.http import HTTP, HttpExecution
from baselinekit.kinds.kind import Family, OutcomePlace, RecipeKind, current_form
from baselinekit.kinds.settings import EXECUTION, INPUT, Setting, invalid, is_named
from baselinekit.lazy import lazy_pattern
from baselinekit.model.recipes import Auth, HttpRequest, Observation, ProcessSpec, Recipe, Request, Scalar
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.schema import read_as
from baselinekit.secrets.variables import as_text, escape_variables_in, replace_variables
from baselinekit.structs import Count, Name, NotBlank, NotEmpty, Struct, TimeLimit, field, replace
from baselinekit.values.texts import Mask


class CommandInput(Struct):
    """A program and its input. `argv[0]` is a name under `commands:` in the configuration, or any program if
    the operator allows it (`--allow-exec`)."""

    argv: NotEmpty[str]
    stdin: Json = ABSENT
    env: dict[str, str] = field(default_factory=dict)
    cwd: str | None = None
    files: list[str] = field(default_factory=list)


class CommandExecution(Struct):
    type: Literal["command"]
    timeout: TimeLimit | None = None
    parse: Literal["text", "json"] | None = None
    serial: bool | None = None
    resource: Name | None = None


_EVAL_CONTENT = {"anyOf": [{"$ref": "#/$defs/CommandInput"}, {"type": "array", "items": {"type": "string"}}]}
_COMMAND_TIMEOUT = 60.0


def working_folder(setting: Setting, cwd: str | None, anywhere: bool = False) -> str:
    """Return where a program is started: `cwd`, relative to the folder of the baseline's file, inside the
    project unless `anywhere`."""
    surroundings, path = setting.surroundings, cwd or "."
    path = os.path.join(surroundings.folder, path) if anywhere else inside(surroundings, path)
    if not os.path.isdir(path):
        raise cannot_replay("BK320", f"the working folder {cwd!r} does not exist", "correct `cwd`")
    return os.path.realpath(path)


def program_words(program: str, cwd: str, setting: Setting, is_path: bool = False) -> list[str]:
    """Return the words for a name under `commands:` in the configuration, unless it is a path or a program
    anyway; else the full path of the program."""
    configured = None if is_path else setting.surroundings.commands.get(program)
    if configured is None:
        return [children.program_at(program, cwd, "install it, or correct its name")]
    hint = f"correct `commands: {program}:` in baselinekit.yaml, or install it"
    return children.configured_argv(configured.argv, setting.surroundings.root, hint)


def process_of(command_input: CommandInput, execution: CommandExecution, setting: Setting) -> ProcessSpec:
    argv, commands = [as_text(word) for word in command_input.argv], setting.surroundings.commands
    if not argv[0]:
        raise invalid("BK108", "`argv` names no program", "such as [mytool, --version]", (*INPUT, "argv"))
    cwd = working_folder(setting, command_input.cwd)
    allowed_names = commands[argv[0]].env if argv[0] in commands else []
    if argv[0] not in commands:
        setting.trust.check_program(argv[0])
    words = program_words(argv[0], cwd, setting)
    own_env = {name: as_text(value) for name, value in command_input.env.items()}
    check_env(own_env, argv[0], allowed_names, setting.trust, (*INPUT, "env"))
    stdin = "" if command_input.stdin is ABSENT else command_input.stdin
    data = stdin.encode("utf-8", "replace") if isinstance(stdin, str) else to_bytes(stdin)
    env = children.child_environment(allowed_names, own_env)
    timeout = float(_COMMAND_TIMEOUT if execution.timeout is None else execution.timeout)
    return ProcessSpec((*words, *argv[1:]), data, env, cwd, timeout, mask=setting.redactor.mask)


def check_env(names: Iterable[str], command: str, allowed_names: list[str], trust: Trust, at: Path) -> None:
    """Refuse environment variables that the configuration does not list for this program. A list of dangerous
    names would never be complete (TAR_OPTIONS, LESSOPEN, GIT_SSH_COMMAND …)."""
    missing = [name for name in names if name not in allowed_names]
    if missing and not trust.allow_exec:
        listed = ", ".join(dict.fromkeys([*allowed_names, *names]))
        message = f"the configuration does not allow files to set {', '.join(missing)} for {command!r}"
        hint = (
            f"list it in baselinekit.yaml, commands: {{{command}: {{argv: […], env: [{listed}]}}}}, "
            "or pass --allow-exec, which allows programs and their variables"
        )
        raise Refused(Problem("BK340", message, hint, at=at))


class CommandKind(RecipeKind):
    name = "command"
    execution = CommandExecution
    currents = (current_form("Command", CommandInput, CommandExecution),)
    noun = "result"
    parts = ("exit_code", "stdout", "stderr", "files")
    answer = "stdout"
    eval_input = "command"
    eval_content = _EVAL_CONTENT

    def input_of_case(self, content: Json, context: Json) -> tuple[Any, list[Problem]]:
        is_argv = isinstance(content, list)
        command_input, problems = read_as(CommandInput, {"argv": content} if is_argv else content)
        if is_argv:
            problems = [replace(problem, at=(problem.at or ())[1:]) for problem in problems]
        return command_input, problems

    def outcomes(self, recipe: Recipe) -> dict[Path, OutcomePlace]:
        return {("exit_code",): OutcomePlace(self.judge_outcome)}

    def judge_outcome(self, number: int, step: str) -> tuple[int, str]:
        return 2 if number < 0 else int(number > 0), f"the program {describe_exit(number)}"

    def answers(self, recipe: Recipe) -> tuple[Path, ...]:
        return (("stdout",), ("stderr",))

    def target(self, recipe: Recipe, mask: Mask, base_url: str | None = None) -> str:
        return " ".join(recipe.input.argv)

    def group(self, recipe: Recipe, base_url: Json) -> str:
        return str(recipe.input.argv[0]).rsplit("/")[-1]

    def asks(self, recipe: Recipe) -> tuple[Family, str]:
        return "commands", recipe.input.argv[0]

    def asked(self, recipe: Recipe) -> str:
        return shlex.join(recipe.input.argv)

    def question(self, recipe: Recipe) -> CommandInput:
        """Return the input without the program and the files that it writes, which are what is tested."""
        command_input: CommandInput = recipe.input
        return replace(command_input, argv=command_input.argv[1:], files=[])

    def replay(self, recipe: Recipe, setting: Setting) -> Observation:
        """Return `{exit_code, stdout, stderr}`, and `files` where the recipe names some."""
        command_input: CommandInput = setting.scope.expand(recipe.input, INPUT)
        execution: CommandExecution = recipe.execution
        run = process_of(command_input, execution, setting)
        finished = setting.clients.execute(run)
        if execution.parse != "json":
            stdout = text_or_hash(finished.stdout)
        else:
            try:
                stdout = decode(finished.stdout.decode())
            except (NotJson, UnicodeDecodeError) as error:
                program = f"{as_text(command_input.argv[0])} (exit code {finished.exit_code})"
                last_words = children.last_error_line(finished.stderr, run.mask)
                message = f"{program} did not write JSON: {error}{last_words}"
                hint = "leave out `parse: json` to compare it as text"
                raise cannot_replay("BK307", message, hint) from None
        stderr = text_or_hash(finished.stderr)
        output: dict[str, Json] = {"exit_code": finished.exit_code, "stdout": stdout, "stderr": stderr}
        written: dict[str, Json] = {}
        for path in command_input.files:
            content = read_if_there(setting.surroundings, path, run.cwd)
            written[path] = None if content is None else text_or_hash(content)
        output |= {"files": written} if written else {}
        return Observation(output, finished.seconds)

    def check_replay(self, recipe: Recipe, setting: Setting) -> None:
        """Refuse undefined variables, and a program that may not run or does not exist."""
        super().check_replay(recipe, setting)
        process_of(setting.scope.expand(recipe.input, INPUT), recipe.execution, setting)


COMMAND = CommandKind()


PLACEHOLDERS = ("PROMPT", "PROMPT_FILE", "GUIDELINES", "EVAL_ID", "ATTEMPT", "FILES", "OUTPUT_FILE")
"""The placeholders that a command line may hold, in braces."""
PLACEHOLDER_FORM = r"(?!(?<=\{)\{[A-Z_]+\}\})\{([A-Z_]+)\}"
"""Matches one of them; `{{NAME}}` is a variable."""


class Healthcheck(Struct):
    """What must work before the first request to the target in a run: an address that responds with success,
    or a command that ends with exit code 0."""

    url: str | None = None
    command: NotBlank | NotEmpty[str] | None = None
    cwd: str | None = None
    timeout: TimeLimit | None = None


class CliExecution(Struct):
    """A program: its command line as one text or word by word. `{PROMPT}` is the question, `{FILES}` each
    file by `files_format` (`{path}`, `{basename}`), `{OUTPUT_FILE}` the file for its answer; without it,
    the answer is its standard output. `env`: variables that it gets besides the usual ones. `retries`: how
    often it is run again after a timeout. `batch`: the program is started once for all cases, and writes a
    line of JSON for each, by its id."""

    type: Literal["cli"]
    command: NotBlank | NotEmpty[str]
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


def check_cli(execution: CliExecution, at: Path) -> Iterator[Problem]:
    """Return the problems of a command line that its types do not show."""
    lines = [(execution.command, (*at, "command"))]
    if execution.healthcheck is not None:
        place = (*at, "healthcheck")
        lines.append((execution.healthcheck.command or "", (*place, "command")))
        if (execution.healthcheck.url is None) is (execution.healthcheck.command is None):
            message = "a healthcheck has a `url` or a `command`"
            yield Problem("BK108", message, "such as healthcheck: {command: mytool --version}", at=place)
    for line, place in lines:
        words = [line] if isinstance(line, str) else line
        for name in dict.fromkeys(name for word in words for name in re.findall(PLACEHOLDER_FORM, word)):
            if name not in PLACEHOLDERS:
                hint = f"there are {', '.join(f'{{{placeholder}}}' for placeholder in PLACEHOLDERS)}"
                yield Problem("BK791", f"unknown placeholder {{{name}}} in the command line", hint, at=place)


_TIMEOUT = 120.0
_HEALTH_TIMEOUT = 30.0
_MAX_ANSWER = 10_000_000
_LONGEST_WORD = 131_071
"""The bytes of one word of a command line: the operating system accepts no longer one."""
_TIMED_OUT = "BK321"


# A command line, and the values that are filled in. A variable is kept as `\0name\0`, which no text can hold,
# so that its value is one word and is not looked at again.

_KEPT = "\0{}\0"
_FILLED = lazy_pattern(rf"\0([^\0]+)\0|{PLACEHOLDER_FORM}")
_QUOTES = lazy_pattern(r"'[^']*'|\"[^\"]*\"")
_Line = tuple[str | list[str], Path, str | None]
"""A command line, unexpanded; its place in the recipe; the folder where it is started."""


def _placeholders_in(command: str | list[str]) -> set[str]:
    return {*re.findall(PLACEHOLDER_FORM, command if isinstance(command, str) else "\0".join(command))}


def _texts_of(conversation: messages.ConversationInput, placeholders: set[str]) -> tuple[str, str]:
    """Return the question, with only the names of those files that the command line passes in another way,
    and the texts of the guideline files that the messages name."""
    guideline_files = conversation.guideline_files
    given = {*(conversation.input_files if "FILES" in placeholders else ())}
    given |= {*(guideline_files if "GUIDELINES" in placeholders else ())}
    guidelines: list[Json] = []

    def by_name(part: Any) -> Any:
        path = part.get("path") if isinstance(part, dict) else None
        guidelines.extend([part] if path in guideline_files else ())
        return {"type": "text", "value": f"<file: {part.get('value')}>"} if path in given else part

    turns = [
        replace(message, content=[by_name(part) for part in message.content])
        if isinstance(message.content, list)
        else message
        for message in conversation.messages
    ]
    return messages.prompt_of(replace(conversation, messages=turns)), messages.plain_text(guidelines or None)


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

    def line(self) -> _Line:
        return self.recipe.execution.command, (*EXECUTION, "command"), self.execution.cwd

    def health_line(self, health: Healthcheck) -> _Line:
        command = self.recipe.execution.healthcheck.command or []
        return command, (*EXECUTION, "healthcheck", "command"), health.cwd or self.execution.cwd

    def words(self, line: _Line, texts: Mapping[str, str], files: Sequence[str]) -> list[str]:
        """Return the words of a command line, its variables and placeholders filled in once: those within a
        question stay. What needs a shell is one text for it, in which each value is quoted. The program
        itself is filled in from variables only. InvalidInput where the line ends within quotes, or where a
        value would be put between quotes of a shell, which the value could close."""
        command, at, _ = line

        def file(template: str, path: str, quote: Callable[[str], str] = str) -> str:
            names = {"{path}": path, "{basename}": os.path.basename(path)}
            return re.sub(r"\{path\}|\{basename\}", lambda match: quote(names[match[0]]), template)

        def filled(text: str, texts: Mapping[str, str], quote: Callable[[str], str] = str) -> str:
            def value(match: re.Match[str]) -> str:
                if match[1]:
                    return quote(as_text(self.setting.scope.lookup(match[1], at)))
                if match[2] == "FILES" and texts:
                    return " ".join(file(self.execution.files_format, path, quote) for path in files)
                return quote(texts[match[2]]) if match[2] in texts else match[0]

            return _FILLED.sub(value, text)

        if isinstance(command, str):
            text = replace_variables(command, _KEPT.format)
            quotes, bare = _QUOTES.findall(text), _QUOTES.sub("", text)
            if "'" in bare or '"' in bare:
                raise invalid("BK791", "the command line ends within quotes", "close them", at)
            expanded = "".join(quote for quote in quotes if quote[0] == '"')  # by a shell
            if children.needs_shell(_FILLED.sub("", bare)) or re.search(r"[$`\\]", expanded):
                if found := _FILLED.search(" ".join(quotes)):
                    shown = f"{{{{{found[1]}}}}}" if found[1] else found[0]
                    hint = f"write {shown} without quotes: it is quoted when it is filled in"
                    raise invalid("BK791", f"{shown} is between quotes of a shell", hint, at)
                return [children.SHELL, "-c", filled(text, texts, shlex.quote)]
            words = shlex.split(text)
        else:
            words = [replace_variables(word, _KEPT.format) for word in command]
        argv = [filled(words[0], {})]
        for word in words[1:]:
            parts = shlex.split(self.execution.files_format) if word == "{FILES}" else ()
            argv += [file(part, path) for path in files for part in parts]
            argv += [] if parts else [filled(word, texts)]
        return argv

    def argv(
        self, line: _Line, texts: Mapping[str, str] = {}, files: Sequence[str] = ()
    ) -> tuple[list[str], str]:
        """Return the words of a command line with its program's full path, and the folder where it is
        started; Refused where that is not allowed. Only the operator and the configuration may name any
        program, and a folder outside the project."""
        setting, execution, (_, at, cwd) = self.setting, self.execution, line
        first, *words = self.words(line, texts, files)
        configured = None if self.is_named else setting.surroundings.commands.get(first)
        if configured:
            check_env(execution.env, first, configured.env, setting.trust, at)
        elif not self.is_named and not setting.trust.allow_exec:
            hint = (
                "name the file of the targets yourself (--targets FILE, or `targets: FILE` in "
                "baselinekit.yaml), list the program under `commands:`, or pass --allow-exec"
            )
            owner = f"the target {execution.target}" if execution.target else "the target"
            message = f"{owner} runs {first!r}, which is not named in {setting.trust.configuration}"
            raise Refused(Problem("BK403", message, hint, at=at))
        try:
            folder = working_folder(setting, cwd, self.is_named)
            return [*program_words(first, folder, setting, self.is_named), *words], folder
        except CannotReplay as error:
            raise InvalidInput(*(replace(problem, at=at) for problem in error.problems)) from None

    def run(
        self, line: _Line, conversation: messages.ConversationInput, timeout: float, stdin: bytes = b""
    ) -> tuple[str, float]:
        """Run a command line; return what its program wrote to {OUTPUT_FILE} if the command line has that,
        else to stdout, and the seconds that it took."""
        from tempfile import TemporaryDirectory  # slow to import: it loads every archive format

        placeholders, mask = _placeholders_in(line[0]), self.setting.redactor.mask
        question, guidelines = _texts_of(conversation, placeholders)
        output_file = "output.jsonl" if self.execution.batch else "output.json"
        with TemporaryDirectory(prefix="baselinekit-") as folder:
            prompt_file = os.path.join(folder, "prompt.txt")
            with open(prompt_file, "w", encoding="utf-8", errors="surrogatepass", newline="") as file:
                file.write(question)
            texts = {
                "PROMPT": question,
                "PROMPT_FILE": prompt_file,
                "GUIDELINES": guidelines,
                "EVAL_ID": conversation.case or self.setting.asker,
                "ATTEMPT": str(self.setting.turn),
                "OUTPUT_FILE": os.path.join(folder, output_file),
            }
            argv, cwd = self.argv(line, texts, [*dict.fromkeys(conversation.input_files)])
            size = max(len(word.encode("utf-8", "surrogatepass")) for word in argv)
            if size > _LONGEST_WORD or any("\0" in word for word in argv):
                message = f"{self.source}: the question does not fit into a command line ({size:,} bytes)"
                raise cannot_replay("BK791", message, "let it read {PROMPT_FILE} instead of {PROMPT}")
            env = children.child_environment(self.execution.env)
            spec = ProcessSpec(tuple(argv), stdin, env, cwd, timeout, _MAX_ANSWER, mask=mask)
            finished = self.setting.clients.execute(spec)
            content: bytes | None = finished.stdout
            if finished.exit_code == 0 and "OUTPUT_FILE" in placeholders:
                surroundings = replace(self.setting.surroundings, root=folder, folder=folder, within="")
                content = read_if_there(surroundings, output_file)
        children.require_success(finished, self.source, "BK323", mask, "run its command line by hand")
        if content is None:
            last_words = children.last_error_line(finished.stderr.strip() or finished.stdout, mask)
            message = f"{self.source} wrote nothing into {{OUTPUT_FILE}}{last_words}"
            raise cannot_replay("BK323", message, "let it write its answer there")
        try:
            return content.decode("utf-8-sig"), finished.seconds
        except UnicodeDecodeError:
            message = f"{self.source} did not answer in UTF-8 text"
            raise cannot_replay("BK323", message, "let it write text or JSON") from None

    def ask(self, conversation: messages.ConversationInput, stdin: bytes = b"") -> tuple[str, float]:
        return self.run(self.line(), conversation, float(self.execution.timeout or _TIMEOUT), stdin)

    def ask_alone(self, conversation: messages.ConversationInput) -> Observation:
        """Ask one question, again after a timeout, as often as `retries` of the target allows."""
        for attempt in range(1, (self.execution.retries or 0) + 2):
            try:
                text, seconds = self.ask(conversation)
                break
            except CannotReplay as error:
                if attempt > (self.execution.retries or 0) or error.problems[0].code != _TIMED_OUT:
                    raise
        return replace(messages.answer_of_text(text, seconds, self.source), attempts=attempt)

    def ask_together(self, questions: Sequence[tuple[str, Any]]) -> dict[str, Observation | Problem]:
        """Ask about all cases in one run; return the answers by case id. An unusable line fails all cases."""
        cases = [(name, self.setting.scope.expand(conversation)) for name, conversation in questions]
        files = [path for _, conversation in cases for path in conversation.input_files]
        stdin = b"".join(to_bytes(messages.question_as_json(case, name)) + b"\n" for name, case in cases)
        text, seconds = self.ask(messages.ConversationInput([], [], files, "batch"), stdin)
        answers: dict[str, Observation | Problem] = {}
        for number, line in enumerate(text.split("\n"), 1):
            if not line.strip():
                continue
            row: Any = json_or_absent(line)
            name = row.get("id") if isinstance(row, dict) else None
            if not isinstance(name, str) or not name.strip():
                message = f"{self.source}: line {number} of its answer is not JSON with an `id`"
                raise cannot_replay("BK354", message, "write {id, text} for each case")
            try:
                if name in answers or not messages.is_structured(row):
                    fault = f"answered {name} twice" if name in answers else f"gave {name} no `text`"
                    hint = "write one line for each case, {id, text} or {id, output_messages}"
                    raise cannot_replay("BK354", f"{self.source} {fault}", hint)
                answers[name] = messages.answer_of_value(row, seconds / max(len(cases), 1), self.source)
            except CannotReplay as error:
                answers[name] = error.problems[0]
        return answers

    def check_health(self, health: Healthcheck) -> None:
        """CannotReplay where the healthcheck fails."""
        timeout = float(health.timeout or self.execution.timeout or _HEALTH_TIMEOUT)
        try:
            if health.url is None:
                nothing = messages.ConversationInput([], case="healthcheck")
                self.run(self.health_line(health), nothing, timeout)
                return
            request = Recipe(HttpRequest("GET", url=health.url, timeout=timeout), HttpExecution("http"))
            status = HTTP.replay(request, self.setting).output["status"]
            fault = "" if 200 <= status < 300 else f"was answered with status {status}"
        except CannotReplay as error:
            fault = f"failed: {error.problems[0].message}"
        if fault:
            message = f"{self.source} does not work: its healthcheck {fault}"
            raise cannot_replay("BK323", message, "start what it needs")


class CliKind(messages.ConversationKind):
    name = "cli"
    execution = CliExecution
    currents = (current_form("Cli", messages.StatedConversation | str, CliExecution),)
    asks_models = "sometimes"
    names_target = "command: …"

    def check(self, recipe: Recipe) -> Iterator[Problem]:
        yield from check_cli(recipe.execution, EXECUTION)
        for number, message in enumerate(recipe.input.messages):
            if message.tool_calls:
                problem = f"the tool calls of message {number + 1} cannot be sent to a program as text"
                at = (*INPUT, "messages", number, "tool_calls")
                yield Problem("BK780", problem, "write them into its content, or use a service", at=at)

    def asks(self, recipe: Recipe) -> tuple[Family, str]:
        command = recipe.execution.command
        return "commands", (command.split() if isinstance(command, str) else command)[0]

    def replay(self, recipe: Recipe, setting: Setting) -> Observation:
        execution: CliExecution = setting.scope.expand(recipe.execution, EXECUTION)
        conversation: messages.ConversationInput = setting.scope.expand(recipe.input, INPUT)
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
            raise cannot_replay("BK354", message, "it writes a line for each id")
        if isinstance(answer, Problem):
            raise CannotReplay(answer)
        return answer

    def check_replay(self, recipe: Recipe, setting: Setting) -> None:
        """Refuse undefined variables, unsafe command lines, and programs that may not run."""
        super().check_replay(recipe, setting)
        execution: CliExecution = setting.scope.expand(recipe.execution, EXECUTION)
        target = _ProgramTarget(recipe, execution, setting)
        target.argv(target.line())
        if execution.healthcheck is not None and execution.healthcheck.command is not None:
            target.argv(target.health_line(execution.healthcheck))

    def batch(self, recipe: Recipe) -> str | None:
        """Return a key shared by all recipes that one run of the program answers; None without `batch`."""
        return repr(replace(recipe.execution, timeout=None)) if recipe.execution.batch else None


CLI = CliKind()


# A target that is a service: an address that receives the messages as JSON and gives the answer.


_RETRIES = 2
_RETRIED_STATUSES = frozenset((408, 429, 500, 502, 503, 504))


class PostExecution(Struct):
    """The service that receives the messages, by POST. The answer is a text, or JSON: an answer as a program
    could give it (`{output_messages, token_usage, …}`), or any other value as it is. `retries`: how often the
    request is repeated if the service is unreachable or too busy."""

    type: Literal["post"]
    url: str
    headers: dict[str, Scalar] = field(default_factory=dict)
    auth: Auth | None = None
    timeout: TimeLimit | None = None
    retries: Count | None = None
    serial: bool | None = None
    resource: Name | None = None
    target: str = ""


class PostKind(messages.ConversationKind):
    name = "post"
    execution = PostExecution
    currents = (current_form("Post", messages.StatedConversation | str, PostExecution),)
    asks_models = "sometimes"
    names_target = "url: …"

    def check(self, recipe: Recipe) -> Iterator[Problem]:
        yield from http.check_url(recipe.execution.url, (*EXECUTION, "url"))
        yield from http.check_headers(recipe.execution.headers, (*EXECUTION, "headers"))

    def addresses(self, recipe: Recipe) -> Iterator[str]:
        yield recipe.execution.url

    def request(self, recipe: Recipe, setting: Setting) -> Request:
        execution: PostExecution = recipe.execution
        question = messages.question_as_json(setting.scope.expand(recipe.input, INPUT), setting.asker)
        timeout = _TIMEOUT if execution.timeout is None else execution.timeout
        request = HttpRequest("POST", json=escape_variables_in(question), timeout=timeout)
        request = replace(request, url=execution.url, headers=execution.headers, auth=execution.auth)
        return http.admitted(request, http.HttpExecution("http"), setting, EXECUTION)

    def replay(self, recipe: Recipe, setting: Setting) -> Observation:
        retries = _RETRIES if recipe.execution.retries is None else recipe.execution.retries
        request, source = self.request(recipe, setting), self.whom(recipe)
        response, tries = http.ask_with_retries(request, retries, setting, _RETRIED_STATUSES)
        if not 200 <= response.status < 300:
            message = f"{source} answered with status {response.status}"
            raise cannot_replay("BK611", message, "check the service")
        body = http.read_answer(response, request)
        read = messages.answer_of_text if isinstance(body.value, str) else messages.answer_of_value
        answer = read(body.value, response.seconds, source)
        notes = (body.note, *answer.notes) if body.note else answer.notes
        return replace(answer, attempts=tries, notes=notes)

    def check_replay(self, recipe: Recipe, setting: Setting) -> None:
        """Refuse undefined variables, and an address that is invalid or not allowed."""
        super().check_replay(recipe, setting)
        self.request(recipe, setting)


POST = PostKind()
