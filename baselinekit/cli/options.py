"""Options as typed objects: a field of a dataclass defines an option and its help. This module has the
options that several commands share, and builds the operator and the project from them.

Every command imports this module, and `--help` nothing else, so slow imports are in the functions that need
them."""

from __future__ import annotations

import dataclasses
import math
import os
import shlex
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import click

from baselinekit.cli import entry, screen
from baselinekit.cli.entry import clock
from baselinekit.errors import BaselinekitError, InvalidInput, Problem
from baselinekit.structs import replace

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from baselinekit.cli.remotefiles import RemoteFiles
    from baselinekit.commands.project import Operator, Project
    from baselinekit.model.baselines import Baseline
    from baselinekit.model.recipes import Record
    from baselinekit.model.results import Typed
    from baselinekit.model.values import Json

Options = TypeVar("Options")


class Number(click.FloatRange):
    """A finite number. NaN is refused: every comparison with it is false, so it would be within any
    bounds."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is no finite number.", param, ctx)
        return number

    def _describe_range(self) -> str:
        """The range for the help; nothing without bounds, for which click would print `x<=None`."""
        return "" if self.min is None and self.max is None else super()._describe_range()


def option(
    *flags: str,
    also: Mapping[str, str | dict[str, str]] | None = None,
    with_flags: bool = False,
    **attributes: Any,
) -> Any:
    """A field that is filled by an option, which by default has the name of the field. `also`: further flags
    for the same field, with their help and other attributes; the values keep the order in which they were
    typed. `with_flags`: store each value together with its flag."""
    default = False if attributes.get("is_flag") else () if attributes.get("multiple") else None
    metadata = {"flags": flags, "attributes": attributes, "also": also or {}, "with_flags": with_flags}
    return dataclasses.field(default=attributes.get("default", default), metadata=metadata)


def argument(**attributes: Any) -> Any:
    """A field that is filled by positional arguments."""
    default = () if attributes.get("nargs") else attributes.get("default")
    return dataclasses.field(default=default, metadata={"argument": attributes})


def including(kind: type[Any]) -> Any:
    """A field that holds the options of another class, to share them between commands."""
    return dataclasses.field(default_factory=kind, metadata={"group": kind})


def color_option() -> Any:
    choice = click.Choice(["auto", "always", "never"])
    return option(type=choice, default="auto", show_default=True, help="When to use colours.")


def jobs_option(help: str, default: int | None = None) -> Any:
    default_attributes: dict[str, Any] = {"default": default, "show_default": True} if default else {}
    return option("-j", "--jobs", type=click.IntRange(1, 512), help=help, **default_attributes)


def processes_option(help: str) -> Any:
    kind = click.IntRange(1, 256)
    return option(type=kind, default=1, envvar="BASELINEKIT_PROCESSES", metavar="N", help=help)


def flag(*flags: str, help: str) -> Any:
    return option(*flags, is_flag=True, help=help)


def several(*flags: str, **attributes: Any) -> Any:
    """An option that may be repeated."""
    return option(*flags, multiple=True, **attributes)


def command(
    name: str, kind: type[Options], work: str | Callable[[Options], object], **attributes: Any
) -> click.Command:
    """Build the command of a class of options: its fields are the options, its docstring is the help. `work`
    is called with an object of that class; given as `module.function` it is imported only when the command
    runs, not for `--help`. With `--json`, the problems that end it are also printed as JSON, all of them,
    where nothing else was printed as JSON."""

    def callback(**values: Any) -> object:
        options: Options = _build_options(kind, values)
        function = entry.import_named(work) if isinstance(work, str) else work
        entry.raise_on_interrupt()
        try:
            return function(options)
        except BaselinekitError as error:
            if values.get("as_json") and screen.JSON_SHOWN not in click.get_current_context().meta:
                problems = [*map(screen.problem_document, error.problems)]
                screen.show_document({"problem_count": len(problems), "problems": problems})
            raise

    return _RememberingCommand(
        name, callback=callback, params=[*_click_parameters(kind)], help=kind.__doc__, **attributes
    )


_TYPED = "baselinekit.typed"


class _RememberingCommand(click.Command):
    """A command that remembers the parameters as typed, with their values, in order."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not ctx.resilient_parsing:
            try:
                values, _, order = self.make_parser(ctx).parse_args(list(args))
            except click.NoSuchOption as error:
                if any(error.option_name in known.opts for known in _click_parameters(ProjectOptions)):
                    raise _without_effect(error.option_name, ctx.command_path.partition(" ")[2]) from None
                raise
            typed = ctx.meta[_TYPED] = list[tuple[click.Parameter, Any]]()
            for parameter in order:
                value = values[parameter.name]
                value = value.pop(0) if isinstance(value, list) else value
                if isinstance(value, str | bool | tuple):  # click marks what was not typed
                    typed.append((parameter, value))
        return super().parse_args(ctx, args)


def _typed() -> list[tuple[click.Parameter, Any]]:
    typed: list[tuple[click.Parameter, Any]] = click.get_current_context().meta[_TYPED]
    return typed


def _click_parameters(kind: type[Any]) -> Iterator[click.Parameter]:
    inherited = {field.name for base in kind.__bases__ if is_dataclass(base) for field in fields(base)}
    # the fields of the class itself come first
    for field in sorted(fields(kind), key=lambda field: field.name in inherited):
        if "group" in field.metadata:
            yield from _click_parameters(field.metadata["group"])
        elif "argument" in field.metadata:
            yield click.Argument([field.name], **field.metadata["argument"])
        elif "flags" in field.metadata:
            flags = field.metadata["flags"] or (f"--{field.name.replace('_', '-')}",)
            yield click.Option([*flags, field.name], **field.metadata["attributes"])
            for flag, attributes in field.metadata["also"].items():
                attributes = {"help": attributes} if isinstance(attributes, str) else attributes
                yield click.Option([flag, field.name], **{**field.metadata["attributes"], **attributes})


def _build_options(kind: Any, values: dict[str, Any]) -> Any:
    filled = {}
    for field in fields(kind):
        if "group" in field.metadata:
            filled[field.name] = _build_options(field.metadata["group"], values)
        elif field.metadata.get("with_flags"):
            filled[field.name] = tuple((p.opts[0], text) for p, text in _typed() if p.name == field.name)
        elif field.metadata:
            filled[field.name] = values[field.name]
    return kind(**filled)


def complete_ids(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete ids in the shell. Files that cannot be read are ignored."""
    from click.shell_completion import CompletionItem

    from baselinekit.escape import one_line

    return [
        CompletionItem(baseline.id, help=one_line(baseline.name or ""))
        for baseline in _baselines()
        if baseline.id.startswith(incomplete)
    ]


def complete_tags(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    from baselinekit.escape import one_line

    tags = sorted({tag for baseline in _baselines() for tag in baseline.metadata.tags})
    return [CompletionItem(tag) for tag in tags if tag.startswith(incomplete) and one_line(tag) == tag]


def project_of_files(config: str | None = None, environment: str | None = None) -> Project:
    """The project for a completion: without installing the redactor or printing notes."""
    from baselinekit.commands.project import open_project

    return open_project(operator_of(ProjectOptions(config=config, environment=environment)))


def _baselines() -> list[Baseline]:
    from baselinekit.commands.loading import load

    try:
        return load(project_of_files(), ())
    except (BaselinekitError, OSError):
        return []


@dataclass(eq=False, repr=False)
class ReadingOptions:
    """Where the project is and what the operator says about it, for commands that send and run nothing."""

    config: str | None = option(
        metavar="FILE", help="The configuration; the default is the nearest baselinekit.yaml, here or above."
    )
    config_from: str | None = option(metavar="REV", help="Use the configuration as it is at this commit.")
    environment: str | None = option(metavar="NAME", help="One of the configuration's environments.")
    variables: tuple[tuple[str, str], ...] = several(
        "--var",
        also={
            "--var-file": {
                "metavar": "NAME=FILE|FILE.yml",
                "help": "Set it to the text of a file, or several from a file of YAML or JSON.",
            }
        },
        with_flags=True,
        metavar="NAME=VALUE",
        help="Set the variable {{NAME}}, or the input of a prompt.",
    )
    env_files: tuple[str, ...] = several(
        "--env-file", metavar="FILE", help="A file of variables, as KEY=value lines."
    )
    secrets: tuple[str, ...] = several(
        "--secret",
        metavar="NAME[=VALUE]",
        help="A secret variable, never shown; without a value, from the environment.",
    )
    allow_hosts: tuple[str, ...] = several(
        "--allow-host", metavar="HOST", help="Allow requests only to these hosts."
    )


@dataclass(eq=False, repr=False)
class ExecutingOptions(ReadingOptions):
    """Those of commands that ask models and send no request."""

    allow_exec: bool = flag(help="Allow files to run programs that the configuration does not name.")


@dataclass(eq=False, repr=False)
class ProjectOptions(ExecutingOptions):
    """Those of commands that send requests."""

    base_url: str | None = option(metavar="URL", help="Send every request to this address instead.")


@dataclass(eq=False, repr=False)
class RecordingOptions:
    """Recording of model answers, and limits on asking models."""

    record_calls: str | None = option(metavar="DIR", help="Record what models answer, for --offline.")
    offline: str | None = option(metavar="DIR", help="Ask no model: use only recorded answers.")
    cache: bool = flag(help="Cache answers: ask no model the same question twice, across runs.")
    max_calls: int | None = option(type=click.IntRange(1), help="The most calls of models.")
    max_cost: float | None = option(type=float, metavar="USD", help="The most money to spend on models.")
    max_tokens: int | None = option(type=click.IntRange(1), help="The most tokens to use.")

    def __post_init__(self) -> None:
        if self.max_cost is not None and not 0 <= self.max_cost < math.inf:  # also refuses NaN
            message = f"--max-cost {self.max_cost:g} is not an amount in dollars"
            raise InvalidInput(Problem("BK508", message, "0 or more, such as --max-cost 2.5"))
        if self.offline is not None and (self.record_calls is not None or self.cache):
            message = "--offline asks no model, so there is nothing to record or cache"
            raise InvalidInput(Problem("BK508", message, "leave one of them out"))
        if self.record_calls is not None:  # check the folder before any model is paid for
            from baselinekit.store.results import check_place

            check_place(os.path.join(self.record_calls, "calls"))


@dataclass(eq=False, repr=False)
class SelectionOptions:
    """Which baselines are selected."""

    expression: str | None = option(
        "-k", metavar="EXPR", help='Expression on words of id, name or tag: "users and not slow".'
    )
    ids: tuple[str, ...] = several(
        "--id", metavar="GLOB", shell_complete=complete_ids, help="Only these ids."
    )
    tags: tuple[str, ...] = several(
        "--tag", shell_complete=complete_tags, help="Only those with one of these tags."
    )
    exclude_tags: tuple[str, ...] = several("--exclude-tag", help="Leave out those with one of these tags.")


def operator_of(options: ReadingOptions) -> Operator:
    """The operator's settings from the command line, else from BASELINEKIT_CONFIG, _ENVIRONMENT and
    _BASE_URL."""
    import time

    from baselinekit.commands.project import Operator

    execute = None
    if options.config_from is not None:
        from baselinekit.clients.programs.process import Processes

        execute = Processes().execute
    environ = dict(os.environ)
    base_url = getattr(options, "base_url", None) or environ.get("BASELINEKIT_BASE_URL")
    if base_url is not None:
        check_base_url(base_url)
    return Operator(
        cwd=os.getcwd(),
        environ=environ,
        config=options.config or environ.get("BASELINEKIT_CONFIG"),
        environment=options.environment or environ.get("BASELINEKIT_ENVIRONMENT"),
        base_url=base_url,
        variables=_parse_variables(options.variables),
        env_files=options.env_files,
        secrets=dict(map(_parse_secret, options.secrets)),
        allow_hosts=options.allow_hosts,
        allow_exec=getattr(options, "allow_exec", False),
        now=clock()(),
        work=time.thread_time,
        config_from=options.config_from,
        execute=execute,
    )


def check_base_url(url: str) -> None:
    """Check the URL once, so that an error is reported for the option and not for each file that uses it."""
    from baselinekit.kinds.http import check_base

    if not url.startswith(("http://", "https://")):
        raise InvalidInput(
            Problem("BK508", f"--base-url {url!r} is not a URL", "it must start with http:// or https://")
        )
    for problem in check_base(url, ()):
        raise InvalidInput(Problem("BK508", f"--base-url: {problem.message}", problem.hint))


def project_of(
    options: ReadingOptions,
    offline: bool = False,
    targets: str | None = None,
    target: str | None = None,
) -> Project:
    """Open the project of these options; from now on its secrets are masked in all output. `offline`: use
    only files of git repositories that were fetched before. `targets`: the file of named targets for eval
    files; `target`: the one to ask."""
    from baselinekit.cli import screen
    from baselinekit.commands.project import open_project
    from baselinekit.store.project import CONFIG_NAME, nearest_config

    operator = replace(operator_of(options), targets=targets, target=target)
    project = open_project(operator)

    @cache
    def remote_files() -> RemoteFiles:
        from baselinekit.cli.remotefiles import RemoteFiles  # most commands need none

        return RemoteFiles(project, offline)

    project = replace(project, fetch_file=lambda url: remote_files().fetch_file(url))
    screen.install(project.redactor.mask_said)
    commit = project.operator.config_from
    if commit is not None and project.config_file is None and nearest_config(project.cwd):
        note = f"{CONFIG_NAME} does not exist at {commit}: the defaults apply"
        screen.line(screen.safe_line(f"note: {note}, until it is merged"), err=True)
    return project


def refuse_without_effect(command: str, *names: str) -> None:
    """Refuse these options of the project (without names: all) for a command that has no use for them."""
    for parameter, _ in _typed():
        if parameter.name in (names or [field.name for field in fields(ProjectOptions)]):
            raise _without_effect(parameter.opts[0], command)


def _without_effect(flag: str, command: str) -> InvalidInput:
    return InvalidInput(Problem("BK508", f"{flag} has no effect on {command}", "leave it out"))


SENDING = ("base_url", "allow_exec")
"""Options of the project for commands that send requests or run programs."""


def _is_name(text: str) -> bool:
    from baselinekit.secrets.variables import NAME

    return NAME.fullmatch(text) is not None


def _parse_pair(option: str, text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not _is_name(name):
        raise InvalidInput(Problem("BK508", f"{option} {name!r} is not NAME=VALUE", "as in --var user=ada"))
    return name, value


def _parse_variables(options: tuple[tuple[str, str], ...]) -> dict[str, Json]:
    """Parse `--var` and `--var-file`; a later one overrides an earlier one."""
    values: dict[str, Json] = {}
    for flag, text in options:
        name, equals, file = text.partition("=")
        if flag == "--var":
            values |= [_parse_pair(flag, text)]
        elif equals and _is_name(name):
            values[name] = read_text(flag, file, "a text file")
        else:
            values |= _read_values(flag, text)
    return values


def _read_values(flag: str, path: str) -> dict[str, Json]:
    """The values in a YAML or JSON file, by name."""
    from baselinekit.files.languages import language

    if not path.lower().endswith((".yaml", ".yml", ".json")):
        message = f"{flag} {path!r} is neither NAME=FILE nor a file of values"
        raise InvalidInput(Problem("BK508", message, f"as in {flag} doc=notes.md, or {flag} values.yml"))
    documents = language(path).load(read_text(flag, path, "a file of YAML or JSON"), path)
    values = documents[0] if len(documents) == 1 else documents
    if not isinstance(values, dict):
        raise InvalidInput(Problem("BK508", f"{flag} {path} is no mapping", "write lines such as user: ada"))
    if invalid := [name for name in values if not _is_name(name)]:
        hint = "letters, digits, _, . and -, and a letter or _ first"
        raise InvalidInput(Problem("BK508", f"{flag} {path}: {invalid[0]!r} is no name of a variable", hint))
    return values


def _parse_secret(text: str) -> tuple[str, str | None]:
    if "=" in text:
        return _parse_pair("--secret", text)
    if not _is_name(text):
        raise InvalidInput(Problem("BK508", "--secret takes NAME or NAME=VALUE", "as in --secret token"))
    return text, None


def parse_pairs(option: str, texts: tuple[str, ...], form: str) -> dict[str, str]:
    """Parse `KEY=VALUE` options; the key may be any text, such as a path."""
    pairs = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise InvalidInput(Problem("BK508", f"{option} {text!r} is not {form}"))
        pairs[key] = value
    return pairs


def parse_lists(option: str, texts: tuple[str, ...], form: str) -> dict[str, str | list[str]]:
    """As `parse_pairs`, but a repeated key collects all its values."""
    lists: dict[str, list[str]] = {}
    for text in texts:
        for key, value in parse_pairs(option, (text,), form).items():
            lists.setdefault(key, []).append(value)
    return {key: values[0] if len(values) == 1 else values for key, values in lists.items()}


def record_policy(project: Project, requested: bool | None) -> Record:
    """When to record: as the operator says, else never in CI, else as the configuration says."""
    from baselinekit.clients.trust import in_ci

    record = project.config.record
    if requested is False or (requested is None and in_ci(os.environ)):
        return "never"
    return "always" if requested and record == "never" else record


def command_line(project: Project) -> str:
    """The command as typed, quoted for a shell. Secrets are masked word by word, before quoting changes
    them."""
    return shlex.join(["baselinekit", *map(project.redactor.mask, sys.argv[1:])])


def typed_command() -> Typed:
    """What was typed for this command, as far as a following one repeats it."""
    from baselinekit.clients.trust import in_ci
    from baselinekit.model.results import Typed

    # the commands of a CI job are typed in another clone, which may not have the commit of --config-from
    left_out = {"config_from"} if in_ci(os.environ) else set()
    return Typed(
        tuple(_typed_options({field.name for field in fields(ProjectOptions)} - left_out)),
        tuple(_typed_options(("cache", "offline", "target", "targets"))),
        tuple(_typed_options({field.name for field in fields(SelectionOptions)})),
        tuple(_typed_arguments()),
        any(parameter.name in ("last_failed", "changed_since") for parameter, _ in _typed()),
    )


def repeat_command(*more: str, without: Collection[str] = ()) -> list[str]:
    """The words of this command once more, with further options and without those of these fields."""
    name = click.get_current_context().command_path.split()[1:]
    left = {parameter.name or "" for parameter, _ in _typed()} - {*without}
    return [*name, *_typed_arguments(), *_typed_options(left), *more]


def _typed_options(names: Collection[str]) -> Iterator[str]:
    """The options of these fields with their values, as typed. Of a secret only the name is repeated: its
    value comes from the environment, or from the user."""
    for parameter, value in _typed():
        if parameter.name in names and isinstance(parameter, click.Option):
            yield parameter.opts[0]
            if not isinstance(value, bool):
                yield value.partition("=")[0] if parameter.name == "secrets" else value


def _typed_arguments() -> Iterator[str]:
    """The arguments, so that none is taken for an option."""
    for parameter, value in _typed():
        if isinstance(parameter, click.Argument):
            for word in value if isinstance(value, tuple) else (value,):
                yield f"./{word}" if word.startswith("-") else word


def path_from_here(project: Project) -> Callable[[str], str]:
    """A function that makes a path of the project relative to the operator's working folder."""
    return lambda file: os.path.relpath(os.path.join(project.root, file), project.cwd)


def read_text(option: str, name: str, what_it_is: str) -> str:
    """The text of a file that the operator named, wherever it is; `-` is standard input."""
    from baselinekit.store.project import MAX_OUTPUT_BYTES

    try:
        if name == "-":
            data = sys.stdin.buffer.read(MAX_OUTPUT_BYTES + 1)
        else:
            with open(name, "rb") as file:
                data = file.read(MAX_OUTPUT_BYTES + 1)
        if len(data) > MAX_OUTPUT_BYTES:
            message = f"{option} {name} is larger than {MAX_OUTPUT_BYTES:,} bytes"
            raise InvalidInput(Problem("BK106", message, "write one with fewer baselines in it"))
        return data.decode("utf-8-sig")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        message = f"{option} {name} cannot be read: {reason}"
        raise InvalidInput(Problem("BK111", message, "check the name")) from None
    except UnicodeDecodeError:
        message = f"{option} {name} is not UTF-8 text"
        raise InvalidInput(Problem("BK101", message, f"name {what_it_is}")) from None
