"""Programs that judge: who allows them, how they are started, and what becomes of those that misbehave. They
are really run."""

import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from evalcases import World, case, suite

from baselinekit.clients.programs.process import Processes
from baselinekit.commands.project import Operator, Project, open_project
from baselinekit.errors import BaselinekitError, InvalidInput, OutOfBudget, Problem, Refused
from baselinekit.evals.checks import ReadyJudge, ready_program
from baselinekit.graders.base import JudgeProgram
from baselinekit.graders.by_program import CodeJudge, ModelAccess
from baselinekit.model.baselines import Source
from baselinekit.model.evals import Case
from baselinekit.model.grades import Grade, Grader
from baselinekit.model.recipes import ProcessResult, ProcessSpec
from baselinekit.model.results import Result
from baselinekit.structs import replace

pytestmark = pytest.mark.slow

CONFIG = """\
skills: {echo: {command: [echo]}}
models: {judge: {command: [judge]}}
commands:
  check: {argv: [sh, evals/judges/check.sh], env: [ALLOWED_HERE]}
"""
VERDICT = """echo '{"score": 1}'"""


class Judged(World):
    """A project with a judge in `evals/judges/check.sh`."""

    def __init__(self, root: Path, config: str = CONFIG):
        (root / "baselinekit.yaml").write_text(config)
        super().__init__(root)
        self.folder = root / "evals" / "judges"
        self.folder.mkdir(parents=True)
        self.script("check.sh", VERDICT)
        self.processes = Processes()
        self.specs: list[ProcessSpec] = []
        self.allow_exec = False
        self.known = {"judge", "other"}

    def check(self, name: str) -> None:
        if name not in self.known:
            raise InvalidInput(Problem("BK601", f"no model is called {name!r}"))

    def script(self, name: str, text: str) -> None:
        path = self.folder / name
        path.write_text(text if text.startswith("#!") else f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def execute(self, spec: ProcessSpec) -> ProcessResult:
        if not spec.stdin or os.path.basename(spec.argv[0]) == "echo":
            return super().execute(spec)
        self.specs.append(spec)
        return self.processes.execute(spec)

    def seconds(self) -> float:
        return time.monotonic()

    def project(self) -> Project:
        return open_project(Operator(cwd=str(self.root), allow_exec=self.allow_exec))

    def result(self, judge: CodeJudge, **more: Any) -> Result:
        (result,) = self.run(suite(case_with(judge, **more)), jobs=1).results
        return result

    def grade(self, judge: CodeJudge, **more: Any) -> Grade:
        facts = self.result(judge, **more).case
        assert facts is not None
        return facts.attempts[0].grades[0]

    def ready(self, command: Any, cwd: str | None = None) -> ReadyJudge:
        return ready_program(self.project(), case_with(CHECK), JudgeProgram(command, cwd=cwd))


def case_with(judge: CodeJudge, **more: Any) -> Case:
    source = Source("evals/cases.yaml")
    return case("a", "yes", Grader("g", "code", judge), source=source, **more)


CHECK = CodeJudge(["sh", "judges/check.sh"])


@pytest.fixture
def world(tmp_path: Path) -> Judged:
    return Judged(tmp_path)


# Who allows it.


@pytest.mark.parametrize(
    ("command", "rest"),
    [
        (("check", "--strict"), ("--strict",)),
        (("sh", "./judges/check.sh", "a b"), ("a b",)),
        (("bash", "judges/../judges/check.sh", "x"), ("x",)),
        (("./judges/check.sh", "x"), ("x",)),
        ("judges/check.sh 'a b' --k=v", ("a b", "--k=v")),
    ],
)
def test_a23_judge_named_by_the_configuration_runs_as_named_there(
    world: Judged, command: Any, rest: tuple[str, ...]
) -> None:
    ready = world.ready(command)
    assert os.path.basename(ready.argv[0]) == "sh"
    assert ready.argv[1:] == (str(world.folder / "check.sh"), *rest)
    assert (os.path.relpath(ready.cwd, world.root), ready.passed) == ("evals", ("ALLOWED_HERE",))


@pytest.mark.parametrize(
    "command",
    [
        ("sh", "judges/other.sh"),
        ("sh", "-c", "rm -rf ~"),
        "sh judges/check.sh; rm -rf ~",
        "sh judges/check.sh > /tmp/x",
        "sh judges/check.sh $(id)",
        "sh judges/check.sh\nid",
        "PATH=. sh judges/check.sh",
        "sh judges/*.sh",
        "sh judges/check.sh 'open",
        "uv run judges/check.sh",
    ],
)
def test_a23_judge_not_named_by_the_configuration_is_refused(world: Judged, command: Any) -> None:
    world.script("other.sh", VERDICT)
    with pytest.raises(Refused) as caught:
        world.result(CodeJudge(command if isinstance(command, str) else [*command]))
    (problem,) = caught.value.problems
    assert problem.code == "BK403"
    assert "is not named in the configuration" in problem.message
    assert "--allow-exec" in problem.hint
    assert (world.calls, world.specs) == ([], [])


@pytest.mark.parametrize("command", [("sh", "judges/check.sh"), ("judges/check.sh",)])
def test_a23_judge_of_another_repository_is_refused(tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "own").mkdir()
    world, other = Judged(tmp_path / "own"), tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    (other / "evals/judges").mkdir(parents=True)
    (other / "evals/judges/check.sh").write_text("echo '{}'")
    theirs = replace(case_with(CHECK), source=Source(str(other / "evals/cases.yaml")))
    with pytest.raises(Refused, match="is not named"):
        ready_program(world.project(), theirs, JudgeProgram(command))


def test_a23_judge_of_any_kind_runs_with_allow_exec(world: Judged) -> None:
    world.allow_exec = True
    piped = "X=1 sh judges/other.sh | cat"
    for command, argv in (
        (("sh", "judges/other.sh"), ("judges/other.sh",)),
        ("sh judges/other.sh 'a b'", ("judges/other.sh", "a b")),
        (piped, ("-c", piped)),
    ):
        ready = world.ready(command)
        assert (os.path.basename(ready.argv[0]), ready.argv[1:], ready.passed) == ("sh", argv, ())
    for missing in (["no-such-program", "x"], ["judges/none.sh"], "no-such-program x"):
        with pytest.raises(BaselinekitError, match="BK320"):
            world.result(CodeJudge(missing))
    assert world.calls == []


@pytest.mark.parametrize(
    ("cwd", "code"), [("..", ""), ("judges", ""), ("../..", "BK404"), ("/", "BK404"), ("none", "BK320")]
)
def test_a23_judge_runs_in_a_folder_of_the_project(world: Judged, cwd: str, code: str) -> None:
    if code:
        with pytest.raises(BaselinekitError, match=code):
            world.ready(("check",), cwd)
    else:
        folder = os.path.relpath(world.ready(("check",), cwd).cwd, world.root)
        assert folder == os.path.normpath(os.path.join("evals", cwd))


# How it runs.


def test_a20_a23_judge_gets_the_case_and_named_variables_only(world: Judged) -> None:
    world.script("check.sh", f"env > seen; pwd > folder; cat > case; {VERDICT}")
    os.environ |= {"NOT_FOR_JUDGES": "secret of the operator", "ALLOWED_HERE": "yes"}
    try:
        assert world.grade(CHECK).outcome == "passed"
    finally:
        del os.environ["NOT_FOR_JUDGES"], os.environ["ALLOWED_HERE"]
    folder = world.root / "evals"
    seen = (folder / "seen").read_text()
    assert "ALLOWED_HERE=yes" in seen
    assert "NOT_FOR_JUDGES" not in seen
    assert "TARGET_PROXY" not in seen
    assert (folder / "folder").read_text().strip() == os.path.realpath(folder)
    assert '"candidate_answer":"yes"' in (folder / "case").read_text()


MISBEHAVING = {
    "sleeps": ("sleep 60", "BK321", "did not end within 0.3 s"),
    "floods": ("yes", "BK322", "wrote more than 1,000,000 bytes to its standard output"),
    "floods its standard error": (f"yes >&2 & sleep 0.2; kill $!; {VERDICT}", None, ""),
    "is killed": ("kill -9 $$", "BK323", "the judge was killed by signal 9"),
    "leaves children": (f"sleep MARK & (sleep MARK &) ; {VERDICT}", None, ""),
    "closes its pipes": (f"{VERDICT}; exec >&- 2>&-; sleep 60", "BK321", "did not end within 0.3 s"),
    "forks": ("for i in 1 2 3 4 5 6 7 8; do sleep MARK & done; wait", "BK321", "did not end"),
}


@pytest.mark.parametrize("name", MISBEHAVING)
def test_f48_a23_judge_that_misbehaves_is_bounded_and_leaves_no_process(world: Judged, name: str) -> None:
    script, code, reason = MISBEHAVING[name]
    mark = f"97{os.getpid()}"  # of this process: others run the same tests
    world.script("check.sh", script.replace("MARK", mark))
    began = time.monotonic()
    grade = world.grade(replace(CHECK, timeout=0.3 if code == "BK321" else 20))
    assert time.monotonic() - began < 15
    assert (grade.code, grade.outcome) == (code, "passed" if code is None else "error"), grade.reason
    assert reason in grade.reason
    until = time.monotonic() + 5  # what was killed may need a moment to be gone
    while is_running(mark) and time.monotonic() < until:
        time.sleep(0.05)
    assert not is_running(mark)


def is_running(word: str) -> bool:
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().decode("utf-8", "replace").split("\0")
        except OSError:
            continue
        if words[:1] == ["sleep"] and word in words:
            return True
    return False


def test_judge_has_the_time_of_its_case_at_most(world: Judged) -> None:
    world.script("check.sh", "sleep 60")
    grade = world.grade(CHECK, timeout=0.4)
    assert (grade.outcome, grade.code) == ("error", "BK722")
    with pytest.raises(Refused, match="BK408"):
        world.result(replace(CHECK, timeout=100_000))


# With a model.

ASKS = f"""#!{sys.executable}
import json, os, sys, urllib.request
def ask(path, body):
    url, token = os.environ["AGENTV_TARGET_PROXY_URL"], os.environ["AGENTV_TARGET_PROXY_TOKEN"]
    bearer = {{"Authorization": "Bearer " + token}}
    request = urllib.request.Request(url + path, json.dumps(body).encode(), bearer)
    try:
        return json.load(urllib.request.urlopen(request))
    except urllib.error.HTTPError as error:
        return {{"rawText": str(error.code)}}
answers = [ask("/invoke", {{"question": "q"}})["rawText"] for _ in range(3)]
print(json.dumps({{"score": 1, "hits": answers}}))
"""
WITH_MODEL = CodeJudge(["judges/asks.py"], target=ModelAccess(2))


@pytest.fixture
def with_model(tmp_path: Path) -> Judged:
    world = Judged(tmp_path, config=CONFIG + "  asks: [evals/judges/asks.py]\n")
    world.script("asks.py", ASKS)
    world.reply = "relevant"
    return world


def test_a25_f48_judge_asks_its_model_within_the_limit_and_gets_no_key(with_model: Judged) -> None:
    grade = with_model.grade(WITH_MODEL)
    assert grade.details == {
        "hits": ["relevant", "relevant", "429"],
        "target_proxy": {"call_count": 2, "max_calls": 2},
    }
    assert (grade.usage.tokens_in, grade.usage.tokens_out) == (20, 10)
    questions = [
        (question.model, question.messages[0].content, question.asker) for question in with_model.asked
    ]
    assert questions == [("judge", "q", "a")] * 2
    passed = {"HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "PATH", "SYSTEMROOT"}
    assert {name for name in with_model.specs[-1].env if "TARGET_PROXY" not in name} <= passed
    with_model.known = {"judge"}
    with pytest.raises(InvalidInput):
        with_model.result(replace(WITH_MODEL, model="other"))


def test_a25_judge_with_a_target_asks_the_declared_model(with_model: Judged) -> None:
    with_model.script("asks.py", ASKS.replace('{"question": "q"}', '{"question": "q", "target": "strict"}'))
    config = with_model.root / "baselinekit.yaml"
    config.write_text(config.read_text().replace("models: {", "models: {strict: {command: [strict]}, "))
    assert with_model.grade(WITH_MODEL).details["hits"] == ["relevant", "relevant", "429"]
    assert {question.model for question in with_model.asked} == {"strict"}


def test_a25_judge_that_is_stopped_has_its_calls_counted(with_model: Judged) -> None:
    with_model.script("asks.py", ASKS.replace("print(", "import time; time.sleep(60); print("))
    grade = with_model.grade(replace(WITH_MODEL, timeout=2))
    assert (grade.code, grade.usage.tokens_in) == ("BK321", 20)
    assert grade.details["target_proxy"] == {"call_count": 2, "max_calls": 2}
    with_model.script("asks.py", ASKS)
    with_model.refusal = OutOfBudget(
        Problem("BK620", "the model 'judge' is not asked: 5 of 5 calls are used")
    )
    assert with_model.result(WITH_MODEL).outcome == "skipped"
