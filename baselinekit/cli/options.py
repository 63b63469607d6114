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
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import click

from baselinekit.cli import entry, screen
from baselinekit.cli.entry import clock
from baselinekit.errors import BaselinekitError, InvalidInput, Problem

if TYPE_CHECKING:
    from baselinekit.cli.remotefiles import RemoteFiles
    from baselinekit.commands.project import Operator, Project
    from baselinekit.commands.selection import Selection
    from baselinekit.model.recipes import Record
    from baselinekit.model.results import Typed
    from baselinekit.model.values import Json

Options = TypeVar("Options")


def misuse(message: str, hint: str = "") -> InvalidInput:
    return InvalidInput(Problem("BK508", message, hint))


class Number(click.FloatRange):
    """A finite number. NaN is refused: every comparison with it is false, so it would be within any
    bounds."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number

    def _describe_range(self) -> str:
        """The range for the help; nothing without bounds, for which click would print `x<=None`."""
        return super()._describe_range() if (self.min, self.max) != (None, None) else ""


class Option(click.Option):
    """`needs`: the field of the option without which this one has no effect; `excludes`: the fields of those
    that it cannot be combined with."""

    def __init__(self, words: list[str], needs: str = "", excludes: Sequence[str] = (), **attributes: Any):
        super().__init__(words, **attributes)
        self.needs, self.excludes = needs, excludes


class _ProjectOption(Option):
    """An option that the help of the program explains, and the help of a command leaves out."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        return super().get_help_record(ctx) if ctx.parent is None else None


def option(*words: str, **attributes: Any) -> Any:
    """A field that is filled by an option, which by default has the name of the field. A word without a dash
    is the name of its value. For `needs` and `excludes` see Option."""
    default = False if attributes.get("is_flag") else () if attributes.get("multiple") else None
    attributes |= {"metavar": words[-1]} if words and not words[-1].startswith("-") else {}
    metadata = {"flags": [word for word in words if word.startswith("-")], "attributes": attributes}
    return dataclasses.field(default=attributes.get("default", default), metadata=metadata)


def argument(**attributes: Any) -> Any:
    """A field that is filled by positional arguments."""
    default = () if attributes.get("nargs") else attributes.get("default")
    return dataclasses.field(default=default, metadata={"argument": attributes})


def including(kind: type[Any]) -> Any:
    """A field that holds the options of another class, to share them between commands."""
    return dataclasses.field(default_factory=kind, metadata={"group": kind})


def count(*words: str, most: int | None = None, **attributes: Any) -> Any:
    return option(*words, type=click.IntRange(1, most), **attributes)


def jobs_option(help: str, default: int | None = None) -> Any:
    shown: dict[str, Any] = {"default": default, "show_default": True} if default else {}
    return count("-j", "--jobs", most=512, help=help, **shown)


def record_option(of: str = "") -> Any:
    what = f"Write last_passed and failure_count{of}; in CI the default is not to."
    return option("--record/--no-record", default=None, help=what)


def flag(*flags: str, **attributes: Any) -> Any:
    return option(*flags, is_flag=True, **attributes)


def several(*words: str, **attributes: Any) -> Any:
    """An option that may be repeated."""
    return option(*words, multiple=True, **attributes)


def command(
    kind: type[Options], cls: type[InOrder] | None = None, **attributes: Any
) -> Callable[[Callable[[Options], object]], click.Command]:
    """Make a command of a function, which takes the options as an object of `kind`: its fields are the
    options, its docstring is the help. With `--json`, the problems that end the command are also printed as
    JSON, all of them, where nothing else was printed as JSON."""

    def make(work: Callable[[Options], object]) -> click.Command:
        def callback(**values: Any) -> object:
            context = click.get_current_context()
            _add_project_options(context, values, _effective(kind))
            options: Options = _build_options(kind, values)
            entry.raise_on_interrupt()
            try:
                return work(options)
            except BaselinekitError as error:
                if values.get("as_json") and screen.JSON_SHOWN not in context.meta:
                    problems = [*map(screen.problem_document, error.problems)]
                    screen.show_document({"problem_count": len(problems), "problems": problems})
                raise

        effective = _effective(kind)
        flags = [parameter.opts[0] for parameter in project_parameters() if parameter.name in effective]
        name = attributes.pop("name", work.__name__.replace("_", "-"))
        return (cls or InOrder)(
            name,
            callback=callback,
            params=[*_parameters(kind), *project_parameters()],
            help=kind.__doc__,
            epilog=f"Also {', '.join(flags)}: see baselinekit --help.",
            **attributes,
        )

    return make


class InOrder(click.Command):
    """A command that knows in which order its options were typed."""

    def make_parser(self, ctx: click.Context) -> Any:
        parser: Any = super().make_parser(ctx)
        parse = parser.parse_args

        def parse_args(args: list[str]) -> tuple[dict[str, Any], list[str], list[click.Parameter]]:
            values, left, order = parse(args)
            ctx.meta.setdefault(_ORDER, []).extend(order)
            return values, left, order

        parser.parse_args = parse_args
        return parser


def _parameters(kind: type[Any]) -> Iterator[click.Parameter]:
    inherited = {field.name for base in kind.__bases__ if is_dataclass(base) for field in fields(base)}
    # the fields of the class itself come first
    for field in sorted(fields(kind), key=lambda field: field.name in inherited):
        if "group" in field.metadata and "effective" not in field.metadata:
            yield from _parameters(field.metadata["group"])
        elif "argument" in field.metadata:
            yield click.Argument([field.name], **field.metadata["argument"])
        elif "flags" in field.metadata:
            flags = field.metadata["flags"] or (f"--{field.name.replace('_', '-')}",)
            option_class = _ProjectOption if kind is ProjectOptions else Option
            yield option_class([*flags, field.name], **field.metadata["attributes"])


def _build_options(kind: Any, values: Mapping[str, Any]) -> Any:
    filled = {}
    for field in fields(kind):
        if "group" in field.metadata:
            filled[field.name] = _build_options(field.metadata["group"], values)
        elif field.metadata:
            filled[field.name] = values[field.name]
    return kind(**filled)


# The options of the project may come before or after the name of a command.


@cache
def project_parameters() -> tuple[click.Parameter, ...]:
    return tuple(_parameters(ProjectOptions))


def _effective(kind: type[Any]) -> tuple[str, ...]:
    """The options of the project that a command has a use for."""
    found = [field.metadata["effective"] for field in fields(kind) if "effective" in field.metadata]
    return ("color", *found[0]) if found else ("color",)


def _add_project_options(context: click.Context, values: dict[str, Any], effective: Collection[str]) -> None:
    """Add those that were typed before the name of the command, and remember all that was typed."""
    root = context.find_root()
    for parameter in project_parameters():
        name = parameter.name or ""
        if name not in effective and (_is_typed(context, name) or _is_typed(root, name)):
            raise _without_effect(parameter.opts[0], context.command_path.partition(" ")[2])
        if root is not context and _is_typed(root, name):
            before = root.params[name]
            if isinstance(before, tuple):
                values[name] = (*before, *values[name])
            elif not _is_typed(context, name):
                values[name] = before
    texts = {name: iter(values[name]) for name in ("variables", "variable_files")}
    in_order = [(one.opts[0], next(texts[one.name])) for one in context.meta[_ORDER] if one.name in texts]
    names = [name for part in (root, context) for name in part.params if _is_typed(part, name)]
    parameters = {str(parameter.name): parameter for parameter in context.command.params}
    typed = {name: parameters[name] for name in names}
    _check_combination(typed, parameters)
    context.meta[screen.COLOR] = values["color"]
    context.meta[_TYPED] = [(parameter, values[name]) for name, parameter in typed.items()]
    values["variables"] = tuple(in_order)


def _check_combination(
    typed: Mapping[str, click.Parameter], parameters: Mapping[str, click.Parameter]
) -> None:
    """Refuse an option without the one that it needs, and two that exclude each other."""
    for name, parameter in typed.items():
        if not isinstance(parameter, Option):
            continue
        flag = parameter.opts[0]
        for other in parameter.excludes:
            if other in typed and other != name:
                message = f"{flag} and {typed[other].opts[0]} cannot be combined"
                raise misuse(message, "leave one of them out")
        if parameter.needs and parameter.needs not in typed:
            needed = parameters[parameter.needs].opts[0]
            raise misuse(f"{flag} has no effect without {needed}", f"add {needed}, or leave it out")


def _is_typed(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


_TYPED, _ORDER = "baselinekit.typed", "baselinekit.order"


def _typed() -> list[tuple[click.Parameter, Any]]:
    """The parameters that were typed, with their values."""
    typed: list[tuple[click.Parameter, Any]] = click.get_current_context().meta[_TYPED]
    return typed


@dataclass
class ProjectOptions:
    """Where the project is, and the operator's settings for it."""

    config: str | None = option("FILE", help="The configuration [default: baselinekit.yaml].")
    config_from: str | None = option("REV", help="The configuration as of this commit.")
    environment: str | None = option("NAME", help="One of the configuration's environments.")
    base_url: str | None = option("URL", help="Send every request to this address instead.")
    variables: tuple[tuple[str, str], ...] = several("--var", "NAME=VALUE", help="Set {{NAME}}, or an input.")
    variable_files: tuple[str, ...] = several(
        "--var-file", "NAME=FILE", help="Set it to a text; FILE.yml: several values."
    )
    env_files: tuple[str, ...] = several("--env-file", "FILE", help="Variables, as KEY=value lines.")
    secrets: tuple[str, ...] = several("--secret", "NAME[=VALUE]", help="A value that is not shown.")
    allow_hosts: tuple[str, ...] = several("--allow-host", "HOST", help="Send only to these hosts.")
    allow_exec: bool = flag(help="Allow programs that are not configured.")
    color: str = option(type=click.Choice(["auto", "always", "never"]), default="auto", help="Use colours.")


SENDING = tuple(field.name for field in fields(ProjectOptions) if field.name != "color")
"""The options of the project for commands that send requests."""

ASKING = tuple(name for name in SENDING if name != "base_url")
"""Those of commands that ask models and send no request."""

READING = tuple(name for name in ASKING if name != "allow_exec")
"""Those of commands that send and run nothing."""


def project_options(effective: Sequence[str] = SENDING) -> Any:
    """The field of a command with the options of the project, of those that it has a use for."""
    metadata = {"group": ProjectOptions, "effective": effective}
    return dataclasses.field(default_factory=ProjectOptions, metadata=metadata)


@dataclass
class RecordingOptions:
    """Recording of model answers, and limits on asking models."""

    record_calls: str | None = option("DIR", help="Record what models answer, for --offline.")
    offline: str | None = option("DIR", help="Ask no model: use only recorded answers.")
    cache: bool = flag(help="Cache answers: ask no model the same question twice, across runs.")
    max_calls: int | None = count(help="The most calls of models.")
    max_cost: float | None = option("USD", type=Number(0), help="The most money to spend on models.")
    max_tokens: int | None = count(help="The most tokens to use.")

    def __post_init__(self) -> None:
        if self.offline is not None and (self.record_calls is not None or self.cache):
            message = "--offline asks no model, so there is nothing to record or cache"
            raise misuse(message, "leave one of them out")
        if self.record_calls is not None:  # check the folder before any model is paid for
            from baselinekit.store.results import check_place

            check_place(os.path.join(self.record_calls, "calls"))


@dataclass
class SelectionOptions:
    """Which baselines are selected."""

    expression: str | None = option("-k", "EXPR", help='Words of id, name, tag: "users or slow".')
    ids: tuple[str, ...] = several("--id", "GLOB", help="Only these.")
    tags: tuple[str, ...] = several("--tag", help="With one of these tags.")
    exclude_tags: tuple[str, ...] = several("--exclude-tag", help="Leave out those with one of these tags.")

    @property
    def selection(self) -> Selection:
        from baselinekit.commands.selection import Selection

        return Selection(**vars(self))


@dataclass
class PrintingOptions:
    """Where the results of a run go."""

    outputs: tuple[str, ...] = several("-o", "PATH", help="A report: x.json, x.html, x.md, x.junit.xml.")
    as_json: bool = flag("--json", help="Print the result file (JSON) instead of text.")
    quiet: bool = flag("-q", "--quiet", help="Print only the last line.")
    verbose: bool = flag("-v", "--verbose", help="Print more: what passed, and every detail.")


@dataclass
class WhereOptions:
    """Where the work is done, if not in threads of this process."""

    processes: int = count(
        "N", most=256, default=1, envvar="BASELINEKIT_PROCESSES", help="Work in N processes, on more cores."
    )
    dask: str | None = option(
        "ADDRESS",
        excludes=("processes", "config_from"),
        help="Work on a Dask cluster; local:4: four workers here.",
    )


@dataclass
class BaseOptions:
    """What a change does to the files themselves."""

    base: str | None = option("REV", help="Also list what was added, removed, loosened or changed since.")
    fail_on_weakened: bool = flag(
        needs="base", help="With --base: exit 1 if anything was removed or loosened."
    )


@dataclass
class PathRuleOptions:
    """Rules about paths of the output, at a capture and afterwards."""

    ignore: tuple[str, ...] = several("PATH", help="Leave this out of the comparison.")
    tolerance: tuple[str, ...] = several(
        "PATH=NUMBER", help="How far a number may move: 0.05 either way, -0.3 down, +2 up, 5% relative."
    )
    arrays: tuple[str, ...] = several(
        "--array", "PATH=MODE", help="How array rows are paired: ordered, unordered, subset, each, by:KEY."
    )


def operator_of(options: ProjectOptions) -> Operator:
    """The operator's settings from the command line, else from BASELINEKIT_CONFIG, _ENVIRONMENT and
    _BASE_URL."""
    from baselinekit.commands.project import Operator

    execute = None
    if options.config_from is not None:
        from baselinekit.clients.programs.process import Processes

        execute = Processes().execute
    environ = dict(os.environ)
    base_url = options.base_url or environ.get("BASELINEKIT_BASE_URL")
    if base_url is not None:
        check_base_url(base_url)
    return Operator(
        cwd=os.getcwd(),
        environ=environ,
        config=options.config or environ.get("BASELINEKIT_CONFIG"),
        environment=options.environment or environ.get("BASELINEKIT_ENVIRONMENT"),
        base_url=base_url,
        variables=_read_variables(options),
        env_files=options.env_files,
        secrets=dict(map(_parse_secret, options.secrets)),
        allow_hosts=options.allow_hosts,
        allow_exec=options.allow_exec,
        now=clock()(),
        work=time.thread_time,
        config_from=options.config_from,
        execute=execute,
    )


def check_base_url(url: str) -> None:
    """Check the URL once, so that an error is reported for the option and not for each file that uses it."""
    from baselinekit.kinds.http import check_base

    if not url.startswith(("http://", "https://")):
        raise misuse(f"--base-url {url!r} is not a URL", "it must start with http:// or https://")
    for problem in check_base(url, ()):
        raise misuse(f"--base-url: {problem.message}", problem.hint)


def project_of(
    options: ProjectOptions, offline: bool = False, targets: str | None = None, target: str | None = None
) -> Project:
    """Open the project of these options; from now on its secrets are masked in all output. `offline`: use
    only files of git repositories that were fetched before. `targets`: the file of named targets for eval
    files; `target`: the one to ask."""
    from baselinekit.commands.project import open_project
    from baselinekit.store.project import CONFIG_NAME, nearest_config
    from baselinekit.structs import replace

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
        note = f"note: {CONFIG_NAME} does not exist at {commit}: the defaults apply, until it is merged"
        screen.say(note, err=True)
    return project


def refuse_without_effect(command: str, *names: str) -> None:
    """Refuse these options of the project (without names: all) for a command that has no use for them."""
    for parameter, _ in _typed():
        if parameter.name in (names or SENDING):
            raise _without_effect(parameter.opts[0], command)


def _without_effect(flag: str, command: str) -> InvalidInput:
    return InvalidInput(Problem("BK508", f"{flag} has no effect on {command}", "leave it out"))


def _read_variables(options: ProjectOptions) -> dict[str, Json]:
    """The values of `--var` and `--var-file`; a later one overrides an earlier one."""
    values: dict[str, Json] = {}
    for flag, text in options.variables:
        name, equals, value = text.partition("=")
        if flag == "--var-file":
            given = {name: read_text(flag, value, "a text file")} if equals else _values_in(flag, text)
        elif equals:
            given = {name: value}
        else:
            raise misuse(f"{flag} {name!r} is not NAME=VALUE", "as in --var user=ada")
        if invalid := [name for name in given if not _is_name(name)]:
            hint = "letters, digits, _, . and -, and a letter or _ first"
            raise misuse(f"{flag}: {invalid[0]!r} is not the name of a variable", hint)
        values |= given
    return values


def _values_in(flag: str, file: str) -> dict[str, Json]:
    from baselinekit.files.languages import language

    documents = language(file).load(read_text(flag, file, "a file of YAML or JSON"), file)
    if len(documents) != 1 or not isinstance(documents[0], dict):
        raise misuse(f"{flag} {file} is not a mapping", "write lines such as user: ada, or pass NAME=FILE")
    return documents[0]


def _is_name(text: object) -> bool:
    from baselinekit.secrets.variables import NAME

    return NAME.fullmatch(str(text)) is not None


def _parse_secret(text: str) -> tuple[str, str | None]:
    name, equals, value = text.partition("=")
    if not _is_name(name):  # it may be the value, which is not printed
        raise misuse("--secret takes NAME or NAME=VALUE", "as in --secret token")
    return name, value if equals else None


def parse_pairs(option: str, texts: tuple[str, ...], form: str) -> dict[str, str]:
    """Parse `KEY=VALUE` options; the key may be any text, such as a path."""
    pairs = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise misuse(f"{option} {text!r} is not {form}")
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
    """When to record: as the operator wants, else never in CI, else as configured."""
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
    """What was typed for this command, as far as a following one repeats it. Readers of a CI job's report may
    not have the commit of --config-from."""
    from baselinekit.model.results import Typed

    return Typed(
        operator=tuple(typed_options({*SENDING} - {"config_from"})),
        asking=tuple(typed_options(("cache", "offline", "target", "targets"))),
        selection=tuple(typed_options([field.name for field in fields(SelectionOptions)])),
        paths=tuple(_typed_arguments()),
        narrowed=any(parameter.name in ("last_failed", "changed_since") for parameter, _ in _typed()),
    )


def folder_in_repository(root: str) -> str:
    """A folder's name in its repository: the runner and code scanning count paths from the repository."""
    folder = root = os.path.realpath(root)
    while not os.path.exists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return ""
        folder = above
    return "" if folder == root else os.path.relpath(root, folder).replace(os.sep, "/")


def repeat_command(*more: str, without: Collection[str] = ()) -> list[str]:
    """The words of this command once more, with further options and without those of these fields."""
    name = click.get_current_context().command_path.split()[1:]
    repeated = {parameter.name or "" for parameter, _ in _typed()} - {*without}
    return [*name, *_typed_arguments(), *typed_options(repeated), *more]


def typed_options(names: Collection[str]) -> Iterator[str]:
    """The options of these fields with their values. Of a secret only the name is repeated: its value comes
    from the environment, or from the user."""
    for parameter, value in _typed():
        if parameter.name not in names or not isinstance(parameter, click.Option):
            continue
        if parameter.is_flag:
            yield (parameter.opts if value else parameter.secondary_opts)[0]
            continue
        for one in value if isinstance(value, tuple) else (value,):
            yield parameter.opts[0]
            yield one.partition("=")[0] if parameter.name == "secrets" else str(one)


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

    code, hint = "BK111", "check the name"
    try:
        with nullcontext(sys.stdin.buffer) if name == "-" else open(name, "rb") as file:
            data = file.read(MAX_OUTPUT_BYTES + 1)
        if len(data) <= MAX_OUTPUT_BYTES:
            return data.decode("utf-8-sig")
        code, reason = "BK106", f"is larger than {MAX_OUTPUT_BYTES:,} bytes"
        hint = "split it, or leave out what is not needed"
    except OSError as error:
        reason = f"cannot be read: {(error.strerror or str(error)).lower()}"
    except UnicodeDecodeError:
        code, reason, hint = "BK101", "is not UTF-8 text", f"name {what_it_is}"
    raise InvalidInput(Problem(code, f"{option} {name} {reason}", hint))


def read_beside(document: str, reference: str, root: str) -> str:
    """The text of a file that a document refers to; it must be below `root`."""
    from baselinekit.clients.trust import check_inside

    folder = "" if document == "-" else os.path.dirname(document)
    target = os.path.realpath(os.path.join(folder, reference))
    check_inside(os.path.realpath(root), target, reference)
    if not os.path.isfile(target):
        raise InvalidInput(Problem("BK111", "there is no such file", "correct the reference"))
    return read_text("the file", target, "a text")
