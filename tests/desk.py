"""A project on a desk: baselines in a folder, and a service that is only a mapping of paths to answers. No
socket, no process: a compare and a refresh take as long as their rules and their files."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from storehelp import write

from baselinekit.commands.capture import Captured, CaptureOptions, capture, named_new
from baselinekit.commands.compare import compare
from baselinekit.commands.context import RunContext
from baselinekit.commands.judging import ComparePolicy
from baselinekit.commands.project import Operator, Project, open_project
from baselinekit.commands.refresh import RefreshScope, accepted_by, apply, propose
from baselinekit.commands.selection import Selection
from baselinekit.errors import CannotReplay, Problem
from baselinekit.kinds.settings import Clients
from baselinekit.model.changes import Applied, Approval, ApprovalNote, RefreshProposal
from baselinekit.model.recipes import ProcessResult, ProcessSpec, Request, Response
from baselinekit.model.results import Report

HEAD = """\
id: {id}   # the id of {id}
# what it said when all was well
baseline:
  output:
"""
TAIL = """\
  captured_at: "2024-01-15T10:30:00Z"
current:
  input: {{method: GET, endpoint: /{id}}}   # how to ask
  execution: {{type: http}}
comparison:
  type: structural
{rules}metadata:
  last_passed: null
  failure_count: 3   # since the release
"""


def baseline(id: str, output: str, rules: str = "") -> str:
    """A file as a hand writes it; `output` is YAML, without its indentation."""
    body = "".join(f"    {line}\n" if line else "\n" for line in output.splitlines())
    rule_lines = "".join(f"  {line}\n" for line in rules.splitlines())
    return HEAD.format(id=id) + body + TAIL.format(id=id, rules=rule_lines)


@dataclass
class Desk:
    folder: Path
    answers: dict[str, Any] = field(default_factory=dict)
    config: str = "base_url: http://desk\n"
    now: str = "2026-11-21T10:00:00Z"
    operator: Mapping[str, Any] = field(default_factory=dict)
    asked: int = 0

    def put(self, id: str, output: str, rules: str = "", name: str | None = None) -> Path:
        """A baseline in a file, and its text."""
        return self.folder / write(self.folder, name or f"baselines/{id}.yaml", baseline(id, output, rules))

    def says(self, id: str, body: Any, status: int = 200) -> None:
        self.answers[f"/{id}"] = (status, body)

    @property
    def project(self) -> Project:
        write(self.folder, "baselinekit.yaml", self.config)
        return open_project(Operator(cwd=str(self.folder), **self.operator))

    def context(self, tick: Callable[[], float] = lambda: 0.0) -> RunContext:
        return RunContext(
            Clients(self._send, _nothing, lambda seconds: None), lambda: None, lambda: self.now, tick
        )

    def _send(self, request: Request) -> Response:
        self.asked += 1
        path = request.url.removeprefix("http://desk").partition("?")[0]
        status, body = self.answers[path]
        headers = (("content-type", "application/json"),)
        return Response(status, headers, json.dumps(body).encode(), 0.01)

    def compare(self, **policy: Any) -> Report:
        return compare(self.project, [], Selection(), ComparePolicy(jobs=1, **policy), self.context())

    def capture(self, record: dict[str, Any], context: RunContext | None = None, **options: Any) -> Captured:
        """A new file, as the command line captures it; its error is raised."""
        wanted = CaptureOptions(**options)
        new = named_new(self.project, record, wanted)
        found = capture(self.project, [new], wanted, context or self.context())
        for error in found.errors:
            raise error
        return found.done[0]

    def propose(self, *words: str, **wanted: Any) -> RefreshProposal:
        wanted.setdefault("all_failed", not words)
        return propose(self.project, RefreshScope(words, **wanted), self.context())

    def refresh(
        self, *words: str, paths: Sequence[str] = (), stamp: ApprovalNote | None = None, **wanted: Any
    ) -> Applied:
        """All that is proposed, accepted; with `paths` what is below them."""
        proposal = self.propose(*words, **wanted)
        accepted = accepted_by(proposal.plans, paths)
        approvals = [Approval(plan, few) for plan, few in zip(proposal.plans, accepted, strict=True)]
        return apply(self.project, approvals, stamp or ApprovalNote())

    def pending(self) -> list[str]:
        return sorted(path.stem for path in self.folder.glob(".baselinekit/pending/*.json"))


def _nothing(run: ProcessSpec) -> ProcessResult:
    raise CannotReplay(Problem("BK320", f"no program runs on a desk: {run.argv[0]}"))
