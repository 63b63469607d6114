"""Programs of the project that are run for a case: who allows them, and what is known of an attempt that runs
them."""

from collections.abc import Mapping

from baselinekit.clients.trust import runs_script
from baselinekit.commands.project import Project
from baselinekit.errors import CannotReplay, NeverSent
from baselinekit.kinds.settings import Execute
from baselinekit.model.grades import Exchange
from baselinekit.model.recipes import ProcessResult, ProcessSpec
from baselinekit.model.values import Json
from baselinekit.secrets.variables import Redactor
from baselinekit.structs import MutableStruct, field, replace


class Trace(MutableStruct):
    """What is known about an attempt even if it fails. `redactor`: knows its inputs; some may be
    secrets by their names; `environment`: what the answer reported about where it comes from;
    `transcript`: what was asked and answered, if it is kept."""

    redactor: Redactor
    sent: bool = False
    verified: bool | None = None
    environment: Mapping[str, Json] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    judged_seconds: float = 0.0
    transcript: list[Exchange] | None = None


def allowed_by(project: Project, file: str) -> str | None:
    """The name under `commands:` that allows this file; None if the configuration does not allow it."""
    commands, root = project.commands.items(), project.root
    return next((name for name, command in commands if runs_script(command.argv, file, root)), None)


def who_allows(project: Project, name: str | None) -> str:
    """Say in words who allows a program: the entry under `commands:`, the operator, or no one."""
    if name is None:
        return "by --allow-exec" if project.trust.allow_exec else "by no one: a run is refused (exit 4)"
    words = f"by `commands: {name}` in {project.config_file}"
    return words + (f" as of {project.operator.config_from}" if project.operator.config_from else "")


def run_in_name(name: str, run: ProcessSpec, execute: Execute) -> ProcessResult:
    """Run a program; CannotReplay, with `name` before its message, if it does not finish."""
    try:
        return execute(run)
    except NeverSent:
        raise
    except CannotReplay as error:
        named = (replace(one, message=f"{name}: {one.message}") for one in error.problems)
        raise CannotReplay(*named) from None
