"""notify: tell the recipient in the configuration how a run ended. The verdict never depends on it."""

import shlex
from collections.abc import Mapping, Sequence
from functools import partial

from baselinekit import __version__
from baselinekit.clients.programs.children import child_environment, configured_argv, last_error_line
from baselinekit.clients.trust import host_of, origin
from baselinekit.commands.project import Project
from baselinekit.errors import BaselinekitError, CannotReplay, cannot_replay, describe_exit
from baselinekit.files.jsontext import to_bytes
from baselinekit.kinds.settings import Clients
from baselinekit.model.evals import GateResult, Suite
from baselinekit.model.grades import FAULTS, OUTCOMES
from baselinekit.model.recipes import Notify, ProcessSpec, Request
from baselinekit.model.results import Report
from baselinekit.model.values import Json
from baselinekit.secrets.variables import names_in
from baselinekit.structs import replace
from baselinekit.values.texts import mask_and_clip, no_mask, shown

_PATIENCE = 10.0
_MOST_FAILURES = 50
_LONGEST_REASON = 500


def notice(
    report: Report, exit_code: int, judged: Sequence[GateResult], environ: Mapping[str, str]
) -> dict[str, Json]:
    """The notification as JSON. `text` is a summary in one line, as chat programs show it; in CI it ends with
    the address of the job."""
    counts = {outcome: getattr(report.summary, outcome) for outcome in OUTCOMES}
    failures = [result for result in report.results if result.outcome in FAULTS]
    name = report.suite.name if report.suite else "baselines"
    outcomes = ", ".join(f"{number:,} {outcome}" for outcome, number in counts.items() if number)
    states = "; ".join(f"{gate.gate.name} is {gate.state}" for gate in judged if gate.state != "met")
    gates = f"; {states or 'every gate is met'}" if judged else ""
    link = environ.get("CI_JOB_URL") or environ.get("BUILD_URL") or None
    if environ.get("GITHUB_RUN_ID") and environ.get("GITHUB_REPOSITORY"):
        server = environ.get("GITHUB_SERVER_URL", "https://github.com")
        link = f"{server}/{environ['GITHUB_REPOSITORY']}/actions/runs/{environ['GITHUB_RUN_ID']}"
    return {
        "text": f"baselinekit {name}: {outcomes or 'nothing ran'}{gates}" + (f" {link}" if link else ""),
        "format": "baselinekit.notice/1",
        "name": name,
        "run": report.id,
        "started": report.started,
        "commit": report.commit,
        "command": report.command,
        "exit_code": exit_code,
        "summary": {**counts, "complete": report.complete},
        "gates": [
            {"name": gate.gate.name, "state": gate.state, "why": [*gate.regressed, *gate.why]}
            for gate in judged
        ],
        "failures": [
            {
                "id": one.id,
                "outcome": one.outcome,
                "reason": mask_and_clip(one.reason, _LONGEST_REASON, no_mask),
            }
            for one in failures[:_MOST_FAILURES]
        ],
        "more_failures": max(0, len(failures) - _MOST_FAILURES),
        "link": link,
    }


def is_wanted(project: Project, exit_code: int, by_suite: bool | None = None) -> bool:
    """Whether to send a notification. A run that its user has stopped sends none. A suite can turn off
    notifications of failures, unless the configuration has `always`."""
    settings = project.config.notify
    if settings is None or exit_code == 130:
        return False
    return settings.always or (exit_code != 0 and by_suite is not False)


def notification_warnings(project: Project, suite: Suite) -> list[str]:
    """A warning for a suite that asks to notify when the configuration names no recipient."""
    if not suite.reporting.notify_on_failure or project.config.notify is not None:
        return []
    hint = "notify: {webhook: URL} or {command: [PROGRAM]} in baselinekit.yaml"
    return [f"{suite.name} asks to notify on failure, and the configuration names no recipient: {hint}"]


def notify(project: Project, notification: dict[str, Json], clients: Clients) -> str:
    """Send the notification. Return why it was not sent, or an empty text."""
    settings = project.config.notify
    data = to_bytes(project.redactor.mask_value(notification))
    try:
        if settings is not None and settings.command:
            _run(project, settings, data, clients)
        elif settings is not None:
            _send(project, settings, data, clients)
    except BaselinekitError as error:
        return f"no notification was sent: {shown(error, project.redactor.mask).problems[0]}"
    return ""


def _run(project: Project, settings: Notify, data: bytes, clients: Clients) -> None:
    """Run the command of the configuration, which allows it by naming it."""
    command = project.scope.expand(settings.command, ("notify", "command"))
    mask = project.redactor.mask
    argv = configured_argv(command, project.root, "correct `notify: command:` in baselinekit.yaml")
    environment = child_environment(settings.env)
    run = ProcessSpec(tuple(argv), data, environment, project.root, _PATIENCE, mask=mask)
    try:
        finished = clients.execute(run)
    except CannotReplay as error:
        raise cannot_replay("BK735", error.problems[0].message) from None
    if finished.exit_code:
        message = f"{shlex.join(settings.command or [])} {describe_exit(finished.exit_code)}"
        raise cannot_replay("BK735", message + last_error_line(finished.stderr, mask))


def _send(project: Project, settings: Notify, data: bytes, clients: Clients) -> None:
    templates = [settings.webhook, settings.headers]
    url, own_headers = project.scope.expand(templates, ("notify", "webhook"))
    host = host_of(origin(url))  # the address itself may be a secret: only the host is ever shown
    used, trust = set(names_in(templates)), project.trust.naming(url)
    trust.check_request(url, [pair for pair in project.scope.secrets.items() if pair[0] in used])
    headers = {"content-type": "application/json", "user-agent": f"baselinekit/{__version__}"}
    headers |= {name.lower(): value for name, value in own_headers.items()}
    verify, admit = project.config.http.verify, partial(trust.check_address, url)
    request = Request("POST", url, tuple(headers.items()), data, timeout=_PATIENCE, admit=admit)
    try:
        response = clients.send(request if verify is None else replace(request, verify=verify))
    except CannotReplay as error:
        message = error.problems[0].message.replace(url, host)
        raise cannot_replay("BK735", f"{host}: {message}") from None
    if not 200 <= response.status < 300:
        raise cannot_replay("BK735", f"{host} answered {response.status}", "check the address")
