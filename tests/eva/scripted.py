"""A prompt folder with scripts that are really run, and with fake models."""

import time
from pathlib import Path
from typing import Any

from evalcases import World
from promptfiles import FOLDER, META, prompt_folder

from baselinekit.clients.programs.process import Processes
from baselinekit.commands.context import RunContext
from baselinekit.commands.project import Operator, Project, open_project
from baselinekit.evals.attempts import EvalClients
from baselinekit.evals.run import RunPolicy, run
from baselinekit.evals.selection import Choice, load
from baselinekit.model.grades import Attempt
from baselinekit.model.recipes import Answer, ModelQuestion, ProcessResult, ProcessSpec, Usage
from baselinekit.model.results import Report, Result

GUARD, VERIFY = f"{FOLDER}/guard.sh", f"{FOLDER}/verify.sh"
CONFIG = f"""\
models: {{default: {{command: [m]}}, judge: {{command: [judge]}}, m: {{command: [m]}}}}
commands: {{refactor-guard: [{GUARD}], refactor-verify: [{VERIFY}]}}
"""
CASE = "cases:\n  - {name: one, inputs: {constraints: none}, assert: [contains: total]}\n"


class Scripted(World):
    """`order`: the scripts and models in the order of their calls; the model answers `answer`."""

    def __init__(
        self,
        root: Path,
        guard: str | None = None,
        verify: str | None = None,
        evals: str = CASE,
        config: str = CONFIG,
        meta: str = META,
        **files: Any,
    ):
        root.mkdir(parents=True, exist_ok=True)
        (root / "baselinekit.yaml").write_text(config)
        super().__init__(root)
        self.folder = prompt_folder(root, evals, meta=meta, **files)
        self.processes = Processes()
        self.order: list[str] = []
        self.specs: list[ProcessSpec] = []
        self.ran: list[ProcessResult] = []
        self.answer = "a total"
        self.stops = False
        self.recorded = False
        self.operator: dict[str, Any] = {}
        for name, text in (("guard.sh", guard), ("verify.sh", verify)):
            if text is not None:
                self.script(name, text)

    def script(self, name: str, text: str) -> None:
        path = self.folder / name
        path.write_text(text if text.startswith("#!") else f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def execute(self, spec: ProcessSpec) -> ProcessResult:
        name = next((Path(word).name for word in spec.argv if word.endswith(".sh")), None)
        if name is None:  # git, which looks for a repository
            return ProcessResult(1, b"", b"", 0.001)
        self.order.append(name)
        self.specs.append(spec)
        self.ran.append(self.processes.execute(spec))
        return self.ran[-1]

    def seconds(self) -> float:
        return time.monotonic()  # as the scripts take real time

    def ask(self, ask: ModelQuestion) -> Answer:
        self.asked.append(ask)
        text = " ".join(message.content for message in ask.messages)
        for form in ("SCORE=5", "DECISION=YES"):
            if form.partition("=")[0] + "=" in text:
                self.order.append("judge")
                return Answer(f"{form} REASON=fine", usage=Usage(1, 1))
        self.order.append("model")
        if self.stops:  # once it is answered
            self.stop.ask()
        return Answer(self.answer, usage=Usage(10, 5), recorded=self.recorded)

    def project(self) -> Project:
        return open_project(Operator(cwd=str(self.root), **self.operator))

    def go(self, wanted: Choice | None = None, **policy: Any) -> Report:
        project = self.project()
        suite = load(project, ["prompts"], None)
        clock = (lambda: "2024-01-20T14:30:52Z", self.seconds)
        context = RunContext(self.clients(), self.cancelled.set, *clock, stop=self.stop)
        return run(
            project, suite, wanted or Choice(), RunPolicy(**policy), context, lambda slip: EvalClients()
        )

    def attempt(self, **policy: Any) -> Attempt:
        (result,) = self.go(**policy).results
        return attempt_of(result)

    def prompt(self) -> str:
        """What the model was last asked."""
        return self.asked[-1].messages[-1].content


def attempt_of(result: Result, number: int = 0) -> Attempt:
    assert result.case is not None
    return result.case.attempts[number]
