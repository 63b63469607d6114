"""The options that several commands share, and what they say together."""

import os
import shlex
import sys
import time
from collections.abc import Callable
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from baselinekit.cli import redaction, screen
from baselinekit.cli.clock import clock
from baselinekit.errors import BaselinekitError, InvalidInput, Problem
from baselinekit.escape import one_line
from baselinekit.kinds.http import check_base
from baselinekit.model.baselines import Baseline
from baselinekit.model.config import Record
from baselinekit.programs.git import Execute
from baselinekit.store import config as configuration
from baselinekit.trust import in_ci
from baselinekit.variables import NAME
from baselinekit.workflow.project import Operator, Project, open_project

# The options that several commands share, and what they say together.


Command = TypeVar("Command", bound=Callable[..., Any])


def project_options(command: Command) -> Command:
    """Where the project is and what the operator says about it."""
    for option in reversed(
        [
            click.option(
                "--config",
                metavar="FILE",
                help="The configuration; else the nearest baselinekit.yaml upward.",
            ),
            click.option(
                "--config-from", metavar="REV", help="The configuration as it stands at this commit."
            ),
            click.option("--environment", metavar="NAME", help="One of the configuration's environments."),
            click.option("--base-url", metavar="URL", help="Send every request here instead."),
            click.option(
                "--var", "variables", metavar="NAME=VALUE", multiple=True, help="A variable for {{NAME}}."
            ),
            click.option(
                "--env-file", "env_files", metavar="FILE", multiple=True, help="Variables as KEY=value lines."
            ),
            click.option(
                "--secret",
                "secrets",
                metavar="NAME[=VALUE]",
                multiple=True,
                help="A variable never shown; without a value, from the environment.",
            ),
            click.option(
                "--allow-host",
                "allow_hosts",
                metavar="HOST",
                multiple=True,
                help="Requests may go to these hosts only.",
            ),
            click.option(
                "--allow-exec",
                is_flag=True,
                help="Let files run programs that the configuration does not name.",
            ),
        ]
    ):
        command = option(command)
    return command


def operator_of(
    config: str | None,
    environment: str | None,
    base_url: str | None,
    variables: tuple[str, ...],
    env_files: tuple[str, ...],
    secrets: tuple[str, ...],
    allow_hosts: tuple[str, ...],
    allow_exec: bool,
    config_from: str | None = None,
) -> Operator:
    """What the command line says; where it is silent, BASELINEKIT_CONFIG, _ENVIRONMENT and _BASE_URL do."""
    environ = dict(os.environ)
    base_url = base_url or environ.get("BASELINEKIT_BASE_URL")
    if base_url is not None:
        check_base_url(base_url)
    return Operator(
        cwd=os.getcwd(),
        environ=environ,
        config=config or environ.get("BASELINEKIT_CONFIG"),
        environment=environment or environ.get("BASELINEKIT_ENVIRONMENT"),
        base_url=base_url,
        variables=dict(_pair("--var", text) for text in variables),
        env_files=env_files,
        secrets=dict(map(_maybe_pair, secrets)),
        allow_hosts=allow_hosts,
        allow_exec=allow_exec,
        now=clock()(),
        work=time.thread_time,
        config_from=config_from,
        execute=_execute() if config_from is not None else None,
    )


def check_base_url(url: str) -> None:
    """Said of the option here, and not of each file that its address is put into."""
    if not url.startswith(("http://", "https://")):
        raise InvalidInput(
            Problem("BK508", f"--base-url {url!r} is no URL", "it starts with http:// or https://")
        )
    for problem in check_base(url, ()):
        raise InvalidInput(Problem("BK508", f"--base-url: {problem.message}", problem.hint))


PROJECT_KEYS = (
    "config",
    "environment",
    "base_url",
    "variables",
    "env_files",
    "secrets",
    "allow_hosts",
    "allow_exec",
    "config_from",
)


def project_of(given: dict[str, Any]) -> Project:
    """The project that a command's options describe; they are taken out of `given`."""
    project = open_project(operator_of(**{key: given.pop(key) for key in PROJECT_KEYS}))
    redaction.draw(project.redactor.mask_said)
    if project.config_from is not None and project.config_file is None and configuration.find(project.cwd):
        there = f"{configuration.NAME} is not there at {project.config_from}: the defaults count"
        screen.line(screen.safe_line(f"note: {there}, until it is merged"), err=True)
    return project


def _execute() -> Execute:
    from baselinekit.programs.process import Processes

    return Processes().execute


def _pair(option: str, text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not NAME.fullmatch(name):
        raise InvalidInput(
            Problem("BK508", f"{option} {text.split('=')[0]!r} is not NAME=VALUE", "as in --var user=ada")
        )
    return name, value


def _maybe_pair(text: str) -> tuple[str, str | None]:
    if "=" in text:
        return _pair("--secret", text)
    if not NAME.fullmatch(text):
        raise InvalidInput(Problem("BK508", "--secret takes NAME or NAME=VALUE", "as in --secret token"))
    return text, None


def pairs(option: str, texts: tuple[str, ...], what: str) -> dict[str, str]:
    """`KEY=VALUE` options whose key may be anything, a path say."""
    found = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise InvalidInput(Problem("BK508", f"{option} {text!r} is not {what}"))
        found[key] = value
    return found


def lists(option: str, texts: tuple[str, ...], what: str) -> dict[str, str | list[str]]:
    """As `pairs`, and a key that is given again has all its values."""
    found: dict[str, list[str]] = {}
    for text in texts:
        for key, value in pairs(option, (text,), what).items():
            found.setdefault(key, []).append(value)
    return {key: values[0] if len(values) == 1 else values for key, values in found.items()}


def record_of(project: Project, asked: bool | None) -> Record:
    """What the operator says, else nothing in CI, else what the configuration says."""
    record = project.config.record
    if asked is False or (asked is None and in_ci(os.environ)):
        return "never"
    return "always" if asked and record == "never" else record


def command_line(project: Project) -> str:
    """What was typed, as a shell reads it again. Secrets are masked word by word, before any quote of ours
    comes into them."""
    return shlex.join(["baselinekit", *map(project.redactor.mask, sys.argv[1:])])


# What the shell offers after a TAB: ids and tags. Files that cannot be read offer nothing, silently.


def ids(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [
        CompletionItem(baseline.id, help=one_line(baseline.name or ""))
        for baseline in _baselines()
        if baseline.id.startswith(incomplete)
    ]


def tags(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    known = sorted({tag for baseline in _baselines() for tag in baseline.metadata.tags})
    return [CompletionItem(tag) for tag in known if tag.startswith(incomplete) and one_line(tag) == tag]


def _baselines() -> list[Baseline]:

    from baselinekit.workflow.loading import load
    from baselinekit.workflow.project import open_project

    try:
        return load(open_project(operator_of(None, None, None, (), (), (), (), False)), ())
    except (BaselinekitError, OSError):
        return []
