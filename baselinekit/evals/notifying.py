"""notify: whoever the configuration names is told how a run came out. The verdict never hangs on it."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from baselinekit import __version__
from baselinekit.documents.jsontext import to_bytes
from baselinekit.errors import BaselinekitError, CannotReplay, Problem, cannot
from baselinekit.model.evals import Judged, Suite
from baselinekit.model.grades import OUTCOMES
from baselinekit.model.recipes import Notify, ProcessSpec, Request
from baselinekit.model.results import Report
from baselinekit.model.values import Json
from baselinekit.programs.children import child_environment, configured_argv, said_last
from baselinekit.replaying.settings import Clients
from baselinekit.texts import already_masked, clipped, shown
from baselinekit.trust import host_of, origin
from baselinekit.variables import names_in
from baselinekit.workflow.project import Project

FORMAT = "baselinekit.notice/1"
_PATIENCE = 10.0
_MOST_FAILURES = 50
_LONGEST = 500
_FAULTS = ("failed", "error", "unscored")


def notice(
    report: Report, exit_code: int, judged: Sequence[Judged] = (), link: str | None = None
) -> dict[str, Json]:
    """What is told. `text` is all of it in a line, as chat programs show it."""
    summary = report.summary
    counts = {outcome: getattr(summary, outcome) for outcome in OUTCOMES}
    wrong = [result for result in report.results if result.outcome in _FAULTS]
    name = report.suite.name if report.suite else "baselines"
    told = ", ".join(f"{number:,} {outcome}" for outcome, number in counts.items() if number) or "nothing ran"
    open_ones = [f"{one.gate.name} is {one.state}" for one in judged if one.state != "met"]
    gates = f"; {'; '.join(open_ones) or 'every gate is met'}" if judged else ""
    return {
        "text": f"baselinekit {name}: {told}{gates}" + (f" {link}" if link else ""),
        "format": FORMAT,
        "name": name,
        "run": report.id,
        "started": report.started,
        "commit": report.commit,
        "command": report.command,
        "exit_code": exit_code,
        "summary": {**counts, "complete": report.complete},
        "gates": [{"name": one.gate.name, "state": one.state, "why": list(one.why)} for one in judged],
        "failures": [
            {"id": one.id, "outcome": one.outcome, "reason": clipped(one.reason, _LONGEST, already_masked)}
            for one in wrong[:_MOST_FAILURES]
        ],
        "more_failures": max(0, len(wrong) - _MOST_FAILURES),
        "link": link,
    }


def link_of(environ: Mapping[str, str]) -> str | None:
    """Where the job that runs this can be seen."""
    if environ.get("GITHUB_RUN_ID") and environ.get("GITHUB_REPOSITORY"):
        server = environ.get("GITHUB_SERVER_URL", "https://github.com")
        return f"{server}/{environ['GITHUB_REPOSITORY']}/actions/runs/{environ['GITHUB_RUN_ID']}"
    return environ.get("CI_JOB_URL") or environ.get("BUILD_URL") or None


def is_wanted(project: Project, exit_code: int, by_suite: bool | None = None) -> bool:
    """Nobody is told of a run that its own user has stopped. A suite may keep its failures to itself, but not
    from who wants to know all."""
    wanted = project.config.notify
    if wanted is None or exit_code == 130:
        return False
    return wanted.always or (exit_code != 0 and by_suite is not False)


def notification_warnings(project: Project, suite: Suite) -> list[str]:
    """A suite that wants somebody to be told, where there is nobody."""
    if not suite.reporting.notify_on_failure or project.config.notify is not None:
        return []
    return [
        f"{suite.name} asks to notify on failure, and the configuration names no recipient: "
        "notify: {webhook: URL} or {command: [PROGRAM]} in baselinekit.yaml"
    ]


def notify(project: Project, told: dict[str, Json], clients: Clients) -> str:
    """Tell it. What kept anybody from hearing it, or nothing."""
    wanted = project.config.notify
    if wanted is None:
        return ""
    data = to_bytes(project.redactor.mask_value(told))
    try:
        _run(project, wanted, data, clients) if wanted.command else _send(project, wanted, data, clients)
    except BaselinekitError as error:
        return f"no notification was sent: {shown(error, project.redactor.mask).problems[0]}"
    return ""


def _run(project: Project, wanted: Notify, data: bytes, clients: Clients) -> None:
    """The configuration names it, so it may be run."""
    command = project.scope.expand(wanted.command, ("notify", "command"))
    argv = configured_argv(command, project.root, "correct `notify: command:` in baselinekit.yaml")
    environment = child_environment(wanted.env)
    typed = shlex.join(wanted.command or [])
    try:
        run = ProcessSpec(tuple(argv), data, environment, project.root, _PATIENCE, mask=project.redactor.mask)
        finished = clients.execute(run)
    except CannotReplay as error:
        hint = "let it end sooner, or continue in the background" if error.problems[0].code == "BK321" else ""
        raise cannot("BK735", error.problems[0].message, hint or error.problems[0].hint) from None
    if finished.exit_code:
        what = f"{typed} ended with exit code {finished.exit_code}"
        raise cannot("BK735", what + said_last(finished.stderr, run.mask))


def _send(project: Project, wanted: Notify, data: bytes, clients: Clients) -> None:
    stated = (wanted.webhook, wanted.headers)
    url, headers = project.scope.expand(list(stated), ("notify", "webhook"))
    where = host_of(origin(url))  # of an address that is a secret itself, only this is ever shown
    used = [(name, one) for name, one in project.scope.secrets.items() if name in set(names_in(list(stated)))]
    trust = project.trust.naming(url)
    trust.check_request(url, used)
    verify = project.config.http.verify
    own = {"Content-Type": "application/json", "User-Agent": f"baselinekit/{__version__}"}
    lower = {name.lower() for name in headers}
    sent = (*((n, v) for n, v in own.items() if n.lower() not in lower), *headers.items())
    request = Request("POST", url, sent, data, timeout=_PATIENCE, verify=True if verify is None else verify)
    request = replace(request, admit=partial(trust.check_address, url))
    try:
        response = clients.send(request)
    except CannotReplay as error:
        problem = error.problems[0]
        raise CannotReplay(Problem("BK735", f"{where}: {problem.message.replace(url, where)}")) from None
    if not 200 <= response.status < 300:
        raise cannot("BK735", f"{where} answered {response.status}", "check the address")
