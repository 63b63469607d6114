"""Options as typed objects: a field of a dataclass says how it is typed and what it means. Here stand those
that several commands share, and what the operator says with them.

A command imports this before it runs, and `--help` nothing else: whatever takes long to import is imported in
the functions that need it."""

from __future__ import annotations

import dataclasses
import math
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import click

from baselinekit.cli import entry
from baselinekit.cli.entry import clock
from baselinekit.errors import BaselinekitError, InvalidInput, Problem
from baselinekit.frozen import frozen

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from baselinekit.cli.remotefiles import RemoteFiles
    from baselinekit.model.baselines import Baseline
    from baselinekit.model.recipes import Record
    from baselinekit.model.values import Json
    from baselinekit.workflow.project import Operator, Project

Options = TypeVar("Options")


class Number(click.FloatRange):
    """A finite number. NaN is none: no comparison with it holds, so it would be within any bounds."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is no finite number.", param, ctx)
        return number

    def _describe_range(self) -> str:
        """For the help; without bounds there is nothing to say, where click says `x<=None`."""
        return "" if self.min is None and self.max is None else super()._describe_range()


def option(
    *flags: str,
    also: Mapping[str, str | dict[str, str]] | None = None,
    told_apart: bool = False,
    **attributes: Any,
) -> Any:
    """A field that an option fills. Without flags of its own it is called as the field is. `also`: other
    flags with their help (and what else is theirs) whose values go into the same field, as all are typed;
    `told_apart`: each value together with the flag by which it was typed."""
    default = False if attributes.get("is_flag") else () if attributes.get("multiple") else None
    metadata = {"flags": flags, "attributes": attributes, "also": also or {}, "told_apart": told_apart}
    return dataclasses.field(default=attributes.get("default", default), metadata=metadata)


def argument(**attributes: Any) -> Any:
    """A field that is filled by what stands between the options."""
    default = () if attributes.get("nargs") else attributes.get("default")
    return dataclasses.field(default=default, metadata={"argument": attributes})


def including(kind: type[Any]) -> Any:
    """A field with the options of another class, which several commands share."""
    return dataclasses.field(default_factory=kind, metadata={"group": kind})


def color_option() -> Any:
    choice = click.Choice(["auto", "always", "never"])
    return option(type=choice, default="auto", show_default=True, help="When to use colours.")


def jobs_option(help: str, default: int | None = None) -> Any:
    shown: dict[str, Any] = {"default": default, "show_default": True} if default else {}
    return option("-j", "--jobs", type=click.IntRange(1, 512), help=help, **shown)


def processes_option(help: str) -> Any:
    kind = click.IntRange(1, 256)
    return option(type=kind, default=1, envvar="BASELINEKIT_PROCESSES", metavar="N", help=help)


def flag(*flags: str, help: str) -> Any:
    return option(*flags, is_flag=True, help=help)


def several(*flags: str, **attributes: Any) -> Any:
    """An option that may be given again."""
    return option(*flags, multiple=True, **attributes)


def command(
    name: str, kind: type[Options], work: str | Callable[[Options], object], **attributes: Any
) -> click.Command:
    """The command that a class of options describes: its fields are the options, its docstring is the help.
    `work` gets what click has read as one object; as `module.function` it is imported when the command runs,
    and not for `--help`."""

    def callback(**values: Any) -> object:
        flags = click.get_current_context().meta.get(_FLAGS, {})
        options: Options = _filled(kind, values, flags)
        function = entry.import_named(work) if isinstance(work, str) else work
        entry.raise_on_interrupt()
        return function(options)

    return _InOrder(name, callback=callback, params=[*_parameters(kind)], help=kind.__doc__, **attributes)


_FLAGS = "baselinekit.flags"


class _InOrder(click.Command):
    """Keeps which flags were typed, by the name of their field and in their order."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not ctx.resilient_parsing:
            flags: dict[str, list[str]] = {}
            for typed in self.make_parser(ctx).parse_args(list(args))[2]:
                flags.setdefault(typed.name or "", []).append(typed.opts[0])
            ctx.meta[_FLAGS] = flags
        return super().parse_args(ctx, args)


def _parameters(kind: type[Any]) -> Iterator[click.Parameter]:
    inherited = {field.name for base in kind.__bases__ if is_dataclass(base) for field in fields(base)}
    for field in sorted(fields(kind), key=lambda field: field.name in inherited):  # its own come first
        if "group" in field.metadata:
            yield from _parameters(field.metadata["group"])
        elif "argument" in field.metadata:
            yield click.Argument([field.name], **field.metadata["argument"])
        elif "flags" in field.metadata:
            flags = field.metadata["flags"] or (f"--{field.name.replace('_', '-')}",)
            yield click.Option([*flags, field.name], **field.metadata["attributes"])
            for other, own in field.metadata["also"].items():
                own = {"help": own} if isinstance(own, str) else own
                yield click.Option([other, field.name], **{**field.metadata["attributes"], **own})


def _filled(kind: Any, values: dict[str, Any], flags: Mapping[str, list[str]]) -> Any:
    filled = {}
    for field in fields(kind):
        if "group" in field.metadata:
            filled[field.name] = _filled(field.metadata["group"], values, flags)
        elif field.metadata.get("told_apart"):
            filled[field.name] = tuple(zip(flags.get(field.name, ()), values[field.name], strict=True))
        elif field.metadata:
            filled[field.name] = values[field.name]
    return kind(**filled)


def complete_ids(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """What the shell offers after a TAB. Files that cannot be read offer nothing, silently."""
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

    known = sorted({tag for baseline in _baselines() for tag in baseline.metadata.tags})
    return [CompletionItem(tag) for tag in known if tag.startswith(incomplete) and one_line(tag) == tag]


def project_of_files(config: str | None = None, environment: str | None = None) -> Project:
    """The project as a completion looks at it: nothing is installed or told."""
    from baselinekit.workflow.project import open_project

    return open_project(operator_of(ProjectOptions(config=config, environment=environment)))


def _baselines() -> list[Baseline]:
    from baselinekit.workflow.loading import load

    try:
        return load(project_of_files(), ())
    except (BaselinekitError, OSError):
        return []


@frozen
class ProjectOptions:
    """Where the project is and what the operator says about it."""

    config: str | None = option(
        metavar="FILE", help="The configuration; the default is the nearest baselinekit.yaml, here or above."
    )
    config_from: str | None = option(metavar="REV", help="Use the configuration as it is at this commit.")
    environment: str | None = option(metavar="NAME", help="One of the configuration's environments.")
    base_url: str | None = option(metavar="URL", help="Send every request to this address instead.")
    variables: tuple[tuple[str, str], ...] = several(
        "--var",
        also={
            "--var-file": {
                "metavar": "NAME=FILE|FILE.yml",
                "help": "Set it to the text of a file, or several from a file of YAML or JSON.",
            }
        },
        told_apart=True,
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
    allow_exec: bool = flag(help="Allow files to run programs that the configuration does not name.")


@frozen
class RecordingOptions:
    """What is kept of the answers of models, and how much may be asked."""

    record_calls: str | None = option(metavar="DIR", help="Record what models answer, for --offline.")
    offline: str | None = option(metavar="DIR", help="Ask no model: use only recorded answers.")
    cache: bool = flag(help="Cache answers: ask no model the same question twice, across runs.")
    max_calls: int | None = option(type=click.IntRange(1), help="The most calls of models.")
    max_cost: float | None = option(type=float, metavar="USD", help="The most money to spend on models.")
    max_tokens: int | None = option(type=click.IntRange(1), help="The most tokens to use.")

    def __post_init__(self) -> None:
        if self.max_cost is not None and not 0 <= self.max_cost < math.inf:  # nor is it no number at all
            what = f"--max-cost {self.max_cost:g} is not an amount in dollars"
            raise InvalidInput(Problem("BK508", what, "0 or more, such as --max-cost 2.5"))
        if self.offline is not None and (self.record_calls is not None or self.cache):
            what = "--offline asks no model, so there is nothing to record or cache"
            raise InvalidInput(Problem("BK508", what, "leave one of them out"))
        if self.record_calls is not None:  # before anybody pays for what is to stand there
            from baselinekit.store.results import check_place

            check_place(os.path.join(self.record_calls, "calls"))


@frozen
class SelectionOptions:
    """Which baselines."""

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


def operator_of(options: ProjectOptions) -> Operator:
    """What the command line says; where it is silent, BASELINEKIT_CONFIG, _ENVIRONMENT and _BASE_URL do."""
    import time

    from baselinekit.workflow.project import Operator

    execute = None
    if options.config_from is not None:
        from baselinekit.programs.process import Processes

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
        variables=_variables(options.variables),
        env_files=options.env_files,
        secrets=dict(map(_secret, options.secrets)),
        allow_hosts=options.allow_hosts,
        allow_exec=options.allow_exec,
        now=clock()(),
        work=time.thread_time,
        config_from=options.config_from,
        execute=execute,
    )


def check_base_url(url: str) -> None:
    """Reported of the option, and not of each file that its address is put into."""
    from baselinekit.kinds.http import check_base

    if not url.startswith(("http://", "https://")):
        raise InvalidInput(
            Problem("BK508", f"--base-url {url!r} is not a URL", "it must start with http:// or https://")
        )
    for problem in check_base(url, ()):
        raise InvalidInput(Problem("BK508", f"--base-url: {problem.message}", problem.hint))


def project_of(
    options: ProjectOptions,
    offline: bool = False,
    targets: str | None = None,
    target: str | None = None,
) -> Project:
    """The project that these options describe; from now on nothing of its secrets is printed. `offline`:
    files of git repositories are those that were fetched before. `targets`: the file of those whom eval
    files can ask by a name, and `target` whom to ask of them."""
    from baselinekit.cli import screen
    from baselinekit.store.project import CONFIG_NAME, nearest_config
    from baselinekit.workflow.project import open_project

    operator = dataclasses.replace(operator_of(options), targets=targets, target=target)
    project = open_project(operator)

    @cache
    def remote_files() -> RemoteFiles:
        from baselinekit.cli.remotefiles import RemoteFiles  # most commands read none

        return RemoteFiles(project, offline)

    project = dataclasses.replace(project, fetch_file=lambda url: remote_files().fetch_file(url))
    screen.install(project.redactor.mask_said)
    if project.config_from is not None and project.config_file is None and nearest_config(project.cwd):
        there = f"{CONFIG_NAME} does not exist at {project.config_from}: the defaults apply"
        screen.line(screen.safe_line(f"note: {there}, until it is merged"), err=True)
    return project


def _pair(option: str, text: str) -> tuple[str, str]:
    from baselinekit.variables import NAME

    name, equals, value = text.partition("=")
    if not equals or not NAME.fullmatch(name):
        raise InvalidInput(
            Problem("BK508", f"{option} {text.split('=')[0]!r} is not NAME=VALUE", "as in --var user=ada")
        )
    return name, value


def _variables(typed: tuple[tuple[str, str], ...]) -> dict[str, Json]:
    """What is typed later goes before what is typed earlier, whichever way it is."""
    values: dict[str, Json] = {}
    for flag, text in typed:
        name, equals, file = text.partition("=")
        if flag == "--var":
            values |= [_pair(flag, text)]
        elif equals and _is_name(name):
            values[name] = read_text(flag, file, "a text file")
        else:
            values |= _values_of(flag, text)
    return values


def _values_of(flag: str, path: str) -> dict[str, Json]:
    """The values in a file of YAML or JSON, by their names."""
    from baselinekit.documents.languages import language

    if not path.lower().endswith((".yaml", ".yml", ".json")):
        what = f"{flag} {path!r} is neither NAME=FILE nor a file of values"
        raise InvalidInput(Problem("BK508", what, f"as in {flag} doc=notes.md, or {flag} values.yml"))
    text = read_text(flag, path, "a file of YAML or JSON")
    documents = language(path).load(text, path)
    stated = documents[0] if len(documents) == 1 else documents
    if not isinstance(stated, dict):
        raise InvalidInput(Problem("BK508", f"{flag} {path} is no mapping", "write lines such as user: ada"))
    wrong = [name for name in stated if not _is_name(name)]
    if wrong:
        hint = "letters, digits, _, . and -, and a letter or _ first"
        raise InvalidInput(Problem("BK508", f"{flag} {path}: {wrong[0]!r} is no name of a variable", hint))
    return stated


def _is_name(text: str) -> bool:
    from baselinekit.variables import NAME

    return NAME.fullmatch(text) is not None


def _secret(text: str) -> tuple[str, str | None]:
    from baselinekit.variables import NAME

    if "=" in text:
        return _pair("--secret", text)
    if not NAME.fullmatch(text):
        raise InvalidInput(Problem("BK508", "--secret takes NAME or NAME=VALUE", "as in --secret token"))
    return text, None


def parse_pairs(option: str, texts: tuple[str, ...], form: str) -> dict[str, str]:
    """`KEY=VALUE` options whose key may be anything, a path say."""
    pairs = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise InvalidInput(Problem("BK508", f"{option} {text!r} is not {form}"))
        pairs[key] = value
    return pairs


def parse_lists(option: str, texts: tuple[str, ...], form: str) -> dict[str, str | list[str]]:
    """As `parse_pairs`, and a key that is given again has all its values."""
    lists: dict[str, list[str]] = {}
    for text in texts:
        for key, value in parse_pairs(option, (text,), form).items():
            lists.setdefault(key, []).append(value)
    return {key: values[0] if len(values) == 1 else values for key, values in lists.items()}


def record_policy(project: Project, asked: bool | None) -> Record:
    """What the operator says, else nothing in CI, else what the configuration says."""
    from baselinekit.trust import in_ci

    record = project.config.record
    if asked is False or (asked is None and in_ci(os.environ)):
        return "never"
    return "always" if asked and record == "never" else record


def command_line(project: Project) -> str:
    """What was typed, as a shell reads it again. Secrets are masked word by word, before any quote of ours
    comes into them."""
    return shlex.join(["baselinekit", *map(project.redactor.mask, sys.argv[1:])])


def path_from_here(project: Project) -> Callable[[str], str]:
    """How a file of the project is called from where the operator is."""
    return lambda file: os.path.relpath(os.path.join(project.root, file), project.cwd)


def read_text(option: str, name: str, what_it_is: str) -> str:
    """A file that the operator named, wherever it is; `-` is standard input."""
    from baselinekit.store.project import MAX_OUTPUT_BYTES

    try:
        if name == "-":
            data = sys.stdin.buffer.read(MAX_OUTPUT_BYTES + 1)
        else:
            with open(name, "rb") as file:
                data = file.read(MAX_OUTPUT_BYTES + 1)
        if len(data) > MAX_OUTPUT_BYTES:
            what = f"{option} {name} is larger than {MAX_OUTPUT_BYTES:,} bytes"
            raise InvalidInput(Problem("BK106", what, "write one with fewer baselines in it"))
        return data.decode("utf-8-sig")
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        what = f"{option} {name} cannot be read: {why}"
        raise InvalidInput(Problem("BK111", what, "check the name")) from None
    except UnicodeDecodeError:
        what = f"{option} {name} is not UTF-8 text"
        raise InvalidInput(Problem("BK101", what, f"name {what_it_is}")) from None
