"""notify: tell the recipient in the configuration how a run ended. The verdict never depends on it."""

import shlex
from collections.abc import Mapping, Sequence
from functools import partial

from baselinekit import __version__
from baselinekit.clients.programs.children import child_environment, configured_argv, last_error_line
from baselinekit.clients.trust import host_of, origin
from baselinekit.commands.project import Project
from baselinekit.errors import BaselinekitError, CannotReplay, Problem, cannot_replay
from baselinekit.files.jsontext import to_bytes
from baselinekit.kinds.settings import Clients
from baselinekit.model.evals import GateResult, Suite
from baselinekit.model.grades import OUTCOMES
from baselinekit.model.recipes import Notify, ProcessSpec, Request
from baselinekit.model.results import Report
from baselinekit.model.values import Json
from baselinekit.secrets.variables import names_in
from baselinekit.structs import replace
from baselinekit.values.texts import mask_and_clip, no_mask, shown

FORMAT = "baselinekit.notice/1"
_PATIENCE = 10.0
_MOST_FAILURES = 50
_LONGEST = 500
_FAULTS = ("failed", "error", "unscored")


def notice(
    report: Report, exit_code: int, judged: Sequence[GateResult] = (), link: str | None = None
) -> dict[str, Json]:
    """The notification as JSON. `text` is a summary in one line, as chat programs show it."""
    summary = report.summary
    counts = {outcome: getattr(summary, outcome) for outcome in OUTCOMES}
    failures = [result for result in report.results if result.outcome in _FAULTS]
    name = report.suite.name if report.suite else "baselines"
    outcomes = (
        ", ".join(f"{number:,} {outcome}" for outcome, number in counts.items() if number) or "nothing ran"
    )
    open_gates = [
        f"{judged_gate.gate.name} is {judged_gate.state}"
        for judged_gate in judged
        if judged_gate.state != "met"
    ]
    gates = f"; {'; '.join(open_gates) or 'every gate is met'}" if judged else ""
    return {
        "text": f"baselinekit {name}: {outcomes}{gates}" + (f" {link}" if link else ""),
        "format": FORMAT,
        "name": name,
        "run": report.id,
        "started": report.started,
        "commit": report.commit,
        "command": report.command,
        "exit_code": exit_code,
        "summary": {**counts, "complete": report.complete},
        "gates": [
            {
                "name": judged_gate.gate.name,
                "state": judged_gate.state,
                "why": [*judged_gate.regressed, *judged_gate.why],
            }
            for judged_gate in judged
        ],
        "failures": [
            {
                "id": result.id,
                "outcome": result.outcome,
                "reason": mask_and_clip(result.reason, _LONGEST, no_mask),
            }
            for result in failures[:_MOST_FAILURES]
        ],
        "more_failures": max(0, len(failures) - _MOST_FAILURES),
        "link": link,
    }


def link_of(environ: Mapping[str, str]) -> str | None:
    """The address of the CI job that runs this."""
    if environ.get("GITHUB_RUN_ID") and environ.get("GITHUB_REPOSITORY"):
        server = environ.get("GITHUB_SERVER_URL", "https://github.com")
        return f"{server}/{environ['GITHUB_REPOSITORY']}/actions/runs/{environ['GITHUB_RUN_ID']}"
    return environ.get("CI_JOB_URL") or environ.get("BUILD_URL") or None


def is_wanted(project: Project, exit_code: int, by_suite: bool | None = None) -> bool:
    """Whether to send a notification. A run that its user has stopped sends none. A suite can turn off
    notifications of failures, unless the configuration says `always`."""
    settings = project.config.notify
    if settings is None or exit_code == 130:
        return False
    return settings.always or (exit_code != 0 and by_suite is not False)


def notification_warnings(project: Project, suite: Suite) -> list[str]:
    """A warning for a suite that asks to notify when the configuration names no recipient."""
    if not suite.reporting.notify_on_failure or project.config.notify is not None:
        return []
    return [
        f"{suite.name} asks to notify on failure, and the configuration names no recipient: "
        "notify: {webhook: URL} or {command: [PROGRAM]} in baselinekit.yaml"
    ]


def notify(project: Project, notification: dict[str, Json], clients: Clients) -> str:
    """Send the notification. Return why it was not sent, or an empty text."""
    settings = project.config.notify
    if settings is None:
        return ""
    data = to_bytes(project.redactor.mask_value(notification))
    try:
        _run(project, settings, data, clients) if settings.command else _send(
            project, settings, data, clients
        )
    except BaselinekitError as error:
        return f"no notification was sent: {shown(error, project.redactor.mask).problems[0]}"
    return ""


def _run(project: Project, settings: Notify, data: bytes, clients: Clients) -> None:
    """Run the command of the configuration, which allows it by naming it."""
    command = project.scope.expand(settings.command, ("notify", "command"))
    argv = configured_argv(command, project.root, "correct `notify: command:` in baselinekit.yaml")
    environment = child_environment(settings.env)
    typed = shlex.join(settings.command or [])
    try:
        run = ProcessSpec(tuple(argv), data, environment, project.root, _PATIENCE, mask=project.redactor.mask)
        finished = clients.execute(run)
    except CannotReplay as error:
        hint = "let it end sooner, or continue in the background" if error.problems[0].code == "BK321" else ""
        raise cannot_replay("BK735", error.problems[0].message, hint or error.problems[0].hint) from None
    if finished.exit_code:
        message = f"{typed} ended with exit code {finished.exit_code}"
        raise cannot_replay("BK735", message + last_error_line(finished.stderr, run.mask))


def _send(project: Project, settings: Notify, data: bytes, clients: Clients) -> None:
    templates = (settings.webhook, settings.headers)
    url, headers = project.scope.expand(list(templates), ("notify", "webhook"))
    host = host_of(origin(url))  # the address itself may be a secret: only the host is ever shown
    used_secrets = [
        (name, secret)
        for name, secret in project.scope.secrets.items()
        if name in set(names_in(list(templates)))
    ]
    trust = project.trust.naming(url)
    trust.check_request(url, used_secrets)
    verify = project.config.http.verify
    default_headers = {"Content-Type": "application/json", "User-Agent": f"baselinekit/{__version__}"}
    stated_names = {name.lower() for name in headers}
    all_headers = (
        *((n, v) for n, v in default_headers.items() if n.lower() not in stated_names),
        *headers.items(),
    )
    request = Request(
        "POST", url, all_headers, data, timeout=_PATIENCE, verify=True if verify is None else verify
    )
    request = replace(request, admit=partial(trust.check_address, url))
    try:
        response = clients.send(request)
    except CannotReplay as error:
        problem = error.problems[0]
        raise CannotReplay(Problem("BK735", f"{host}: {problem.message.replace(url, host)}")) from None
    if not 200 <= response.status < 300:
        raise cannot_replay("BK735", f"{host} answered {response.status}", "check the address")
