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
from baselinekit.evals.judgeprograms import describe_judges, ready_program, words_of
from baselinekit.graders.by_program import CodeJudge, ModelAccess
from baselinekit.graders.task import JudgeProgram
from baselinekit.model.baselines import Source
from baselinekit.model.evals import Case
from baselinekit.model.grades import Grade, Grader
from baselinekit.model.recipes import ProcessResult, ProcessSpec
from baselinekit.model.results import Report
from baselinekit.structs import replace

pytestmark = pytest.mark.slow

CONFIG = """\
skills: {echo: {command: [echo]}}
models: {judge: {command: [judge]}}
commands:
  check: {argv: [sh, evals/judges/check.sh], env: [ALLOWED_HERE]}
"""
SAYS_ONE = """echo '{"score": 1}'"""


class Judged(World):
    """A project with a judge in `evals/judges/check.sh`."""

    def __init__(self, root: Path, script: str = SAYS_ONE, config: str = CONFIG):
        (root / "baselinekit.yaml").write_text(config)
        super().__init__(root)
        self.folder = root / "evals" / "judges"
        self.folder.mkdir(parents=True)
        self.script("check.sh", script)
        self.processes = Processes()
        self.specs: list[ProcessSpec] = []
        self.operator: dict[str, Any] = {}
        self.known = {"judge", "other"}

    def check(self, name: str) -> None:
        if name not in self.known:
            raise InvalidInput(Problem("BK601", f"no model is called {name!r}"))

    def script(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text if text.startswith("#!") else f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return path

    def execute(self, asked: ProcessSpec) -> ProcessResult:
        if not asked.stdin or os.path.basename(asked.argv[0]) == "echo":
            return super().execute(asked)
        self.specs.append(asked)
        return self.processes.execute(asked)

    def seconds(self) -> float:
        return time.monotonic()

    def project(self) -> Project:
        return open_project(Operator(cwd=str(self.root), **self.operator))

    def judged(self, how: CodeJudge, **more: Any) -> Report:
        return self.run(suite(judged_by(how, **more)), jobs=1)

    def grade(self, how: CodeJudge, **more: Any) -> Grade:
        (result,) = self.judged(how, **more).results
        assert result.case is not None
        return result.case.attempts[0].grades[0]

    def ready(self, command: Any, cwd: str | None = None) -> tuple[Any, ...]:
        found = ready_program(self.project(), judged_by(CodeJudge("x")), JudgeProgram(command, cwd=cwd))
        return found.argv, os.path.relpath(found.cwd, self.root), found.passed


def judged_by(how: CodeJudge, **more: Any) -> Case:
    source = Source("evals/cases.yaml")
    return case("a", "yes", Grader("g", "code", how), source=source, **more)


CHECK = CodeJudge(["sh", "judges/check.sh"])


@pytest.fixture
def world(tmp_path: Path) -> Judged:
    return Judged(tmp_path)


# Who allows it.


@pytest.mark.parametrize(
    ("command", "rest"),
    [
        (["check"], ()),
        (["check", "--strict"], ("--strict",)),
        (["sh", "judges/check.sh"], ()),
        (["sh", "./judges/check.sh", "a b"], ("a b",)),
        (["bash", "judges/../judges/check.sh", "x"], ("x",)),
        (["sh", "evals/judges/check.sh"], ()),
        (["judges/check.sh"], ()),
        (["./judges/check.sh", "x"], ("x",)),
        ("sh judges/check.sh", ()),
        ("judges/check.sh 'a b'", ("a b",)),
        ("  check  x ", ("x",)),
    ],
)
def test_a23_a_program_is_run_as_the_configuration_names_it_with_further_words(
    world: Judged, command: Any, rest: tuple[str, ...]
) -> None:
    argv, cwd, passed = world.ready(tuple(command) if isinstance(command, list) else command)
    script = str(world.folder / "check.sh")
    assert os.path.basename(argv[0]) == "sh"
    assert (argv[1:], cwd, passed) == ((script, *rest), "evals", ("ALLOWED_HERE",))


@pytest.mark.parametrize(
    "command",
    [
        ("sh", "judges/other.sh"),
        ("sh", "-c", "rm -rf ~"),
        ("sh",),
        ("python3", "-c", "pass"),
        ("./checks",),
        "sh judges/check.sh; rm -rf ~",
        "sh judges/check.sh && true",
        "sh judges/check.sh > /tmp/x",
        "sh judges/check.sh $(id)",
        "sh judges/check.sh `id`",
        "sh judges/check.sh\nid",
        "PATH=. sh judges/check.sh",
        "sh judges/*.sh",
        "sh judges/check.sh 'open",
        "uv run judges/check.sh",
    ],
)
def test_a23_what_nobody_has_named_is_refused_before_anything_is_asked(world: Judged, command: Any) -> None:
    world.script("other.sh", SAYS_ONE)
    script = command if isinstance(command, str) else [*command]
    with pytest.raises(Refused) as caught:
        world.judged(CodeJudge(script))
    (problem,) = caught.value.problems
    assert problem.code == "BK403"
    assert "is not named in the configuration" in problem.message
    assert "--allow-exec" in problem.hint
    assert (world.calls, world.specs) == ([], [])


@pytest.mark.parametrize("command", [["sh", "judges/check.sh"], ["judges/check.sh"]])
def test_a23_a_script_of_another_repository_is_not_the_one_that_is_named(
    tmp_path: Path, command: list[str]
) -> None:
    """Of the same way from its root: it would be the project's that judges."""
    (tmp_path / "own").mkdir()
    world, other = Judged(tmp_path / "own"), tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    (other / "evals/judges").mkdir(parents=True)
    (other / "evals/judges/check.sh").write_text("echo '{}'")
    theirs = replace(judged_by(CodeJudge("x")), source=Source(str(other / "evals/cases.yaml")))
    with pytest.raises(Refused, match="is not named"):
        ready_program(world.project(), theirs, JudgeProgram(command))


def test_the_hint_is_an_entry_that_allows_it(world: Judged) -> None:
    world.script("other.sh", SAYS_ONE)
    with pytest.raises(Refused) as caught:
        world.ready(("bash", "judges/other.sh", "x"))
    (problem,) = caught.value.problems
    assert problem.hint.startswith(
        "add it under `commands:` in baselinekit.yaml (other: [bash, evals/judges/"
    )
    entry = problem.hint.partition("(")[2].partition(")")[0]
    (world.root / "baselinekit.yaml").write_text(f"{CONFIG}  {entry}\n")
    assert world.ready(("bash", "judges/other.sh", "x"))[0][1:] == (str(world.folder / "other.sh"), "x")


@pytest.mark.parametrize(
    ("command", "argv"),
    [
        (("sh", "judges/other.sh"), ("sh", "judges/other.sh")),
        ("sh judges/other.sh 'a b'", ("sh", "judges/other.sh", "a b")),
        ("sh judges/other.sh | cat", ("sh", "-c", "sh judges/other.sh | cat")),
        ("X=1 sh judges/other.sh", ("sh", "-c", "X=1 sh judges/other.sh")),
    ],
)
def test_a23_the_operator_may_allow_any_words_for_a_shell_or_not(
    world: Judged, command: Any, argv: tuple[str, ...]
) -> None:
    world.operator = {"allow_exec": True}
    found, cwd, passed = world.ready(command)
    assert ((os.path.basename(found[0]), *found[1:]), cwd, passed) == (argv, "evals", ())


def test_a_text_for_the_shell_can_be_named_as_it_is(world: Judged) -> None:
    line = "sh judges/check.sh | cat"
    (world.root / "baselinekit.yaml").write_text(f"{CONFIG}  piped: [sh, -c, '{line}']\n")
    assert world.ready(line)[0][1:] == ("-c", line)
    with pytest.raises(Refused):
        world.ready(f"{line}; id")


def test_a_program_that_is_not_there_is_told_before_anything_is_asked(world: Judged) -> None:
    world.operator = {"allow_exec": True}
    for command in (["no-such-program", "x"], ["judges/none.sh"], "no-such-program x"):
        with pytest.raises(BaselinekitError) as caught:
            world.judged(CodeJudge(command))
        assert [one.code for one in caught.value.problems] == ["BK320"]
    assert world.calls == []


@pytest.mark.parametrize(
    ("cwd", "code"),
    [("..", ""), ("judges", ""), (".", ""), ("../..", "BK404"), ("/", "BK404"), ("none", "BK320")],
)
def test_a23_it_runs_in_the_folder_of_its_cases_or_in_another_one_of_the_project(
    world: Judged, cwd: str, code: str
) -> None:
    if code:
        with pytest.raises(BaselinekitError) as caught:
            world.ready(("check",), cwd)
        assert caught.value.problems[0].code == code
    else:
        assert world.ready(("check",), cwd)[1] == os.path.normpath(os.path.join("evals", cwd))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a b  'c d'", ["a", "b", "c d"]),
        ('a "b c"', ["a", "b c"]),
        ("a --k=v", ["a", "--k=v"]),
        *(
            (text, None)
            for text in ("a|b", "a&", "a;b", "a$B", "a\nb", "A=1 b", "~/a", "a*", "a {b}", "'a", "a#b")
        ),
    ],
)
def test_words_of_a_text_are_those_that_a_shell_would_find_or_none(
    text: str, words: list[str] | None
) -> None:
    assert words_of(text) == words


def test_doctor_tells_each_program_once_and_who_allows_it(world: Judged) -> None:
    judges = (CHECK, CHECK, CodeJudge("sh judges/other.sh"), CodeJudge(["x"], "../.."))
    cases = [replace(judged_by(how), id=str(number)) for number, how in enumerate(judges)]
    assert list(describe_judges(world.project(), cases)) == [
        "judge sh judges/check.sh: allowed by `commands: check` in baselinekit.yaml",
        "judge sh judges/other.sh: allowed by no one: a run is refused (exit 4)",
        "judge x: ../.. leads out of the project",
    ]
    world.operator = {"allow_exec": True}
    assert "allowed by --allow-exec" in [*describe_judges(world.project(), cases)][1]


# How it runs.


def test_a20_a23_it_is_told_the_case_and_finds_named_variables_alone(world: Judged) -> None:
    world.script("check.sh", f"env | sort > seen; pwd > here; cat > told; {SAYS_ONE}")
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
    assert (folder / "here").read_text().strip() == os.path.realpath(folder)
    assert '"candidate_answer":"yes"' in (folder / "told").read_text()


def test_a22_the_documented_example_keeps_its_misses_when_it_fails(tmp_path: Path) -> None:
    world = Judged(tmp_path, config=CONFIG + "  python: [python3, evals/judges/check.py]\n")
    (world.folder / "check.py").write_text(EXAMPLE)
    how = CodeJudge(["python3", "judges/check.py"])
    fine = world.grade(how)
    assert (fine.outcome, fine.score) == ("failed", 0.0)
    assert fine.details["misses"] == ["Keyword 'async'", "Keyword 'await'"]
    (world.folder / "check.py").write_text(EXAMPLE.replace("candidate =", "candidate = data['nothing'];"))
    broken = world.grade(how)
    assert (broken.outcome, broken.score, broken.code) == ("error", None, "BK655")
    assert broken.details["misses"] == ["'nothing'"]


EXAMPLE = """\
import json, sys

def evaluate(data: dict) -> dict:
    candidate = data.get("candidate_answer", "")
    hits, misses = [], []
    for kw in ["async", "await"]:
        (hits if kw in candidate else misses).append(f"Keyword '{kw}'")
    return {
        "score": len(hits) / max(len(hits) + len(misses), 1),
        "hits": hits, "misses": misses
    }

if __name__ == "__main__":
    try:
        print(json.dumps(evaluate(json.loads(sys.stdin.read()))))
    except Exception as e:
        print(json.dumps({"score": 0, "misses": [str(e)]}))
        sys.exit(1)
"""


def test_a_file_that_it_is_made_of_is_part_of_what_its_verdict_hangs_on(world: Judged) -> None:
    def content() -> str:
        return ready_program(
            world.project(), judged_by(CHECK), JudgeProgram(("sh", "judges/check.sh"))
        ).content

    first = content()
    assert first == content()
    world.script("check.sh", "echo other")
    assert content() != first


MISBEHAVING = {
    "sleeps": ("sleep 60", "BK321", "the judge did not end within 0.3 s"),
    "floods": ("yes", "BK322", "the judge wrote more than 1,000,000 bytes to its standard output"),
    "floods its standard error": (f"yes >&2 & sleep 0.2; kill $!; {SAYS_ONE}", None, ""),
    "prints two verdicts": (
        f"{SAYS_ONE}; {SAYS_ONE}",
        "BK654",
        "the judge printed more than one JSON object",
    ),
    "does not read": (SAYS_ONE, None, ""),
    "is killed": ("kill -9 $$", "BK655", "the judge was killed by signal 9"),
    "leaves children": (f"sleep MARK & (sleep MARK &) ; {SAYS_ONE}", None, ""),
    "closes its pipes": (
        f"{SAYS_ONE}; exec >&- 2>&-; sleep 60",
        "BK321",
        "the judge did not end within 0.3 s",
    ),
    "forks": ("for i in 1 2 3 4 5 6 7 8; do sleep MARK & done; wait", "BK321", "did not end"),
}


@pytest.mark.parametrize("named", MISBEHAVING)
def test_f48_a23_a_judge_that_misbehaves_is_bounded_reported_and_leaves_nobody_behind(
    world: Judged, named: str
) -> None:
    script, code, reason = MISBEHAVING[named]
    mark = f"97{os.getpid()}"  # of this process: others run the same tests
    world.script("check.sh", script.replace("MARK", mark))
    limit = 0.3 if code == "BK321" else 20
    began = time.monotonic()
    said = world.grade(replace(CHECK, timeout=limit))
    assert time.monotonic() - began < 15
    assert said.code == code, said.reason
    assert reason in said.reason
    assert said.outcome == ("passed" if code is None else "error")
    assert running(mark) == []


def running(word: str) -> list[str]:
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().decode("utf-8", "replace").split("\0")
        except OSError:
            continue
        if words[:1] == ["sleep"] and word in words:
            found.append(entry.parts[2])
    return found


def test_the_time_of_its_case_is_the_most_that_it_has(world: Judged) -> None:
    world.script("check.sh", "sleep 60")
    said = world.grade(CHECK, timeout=0.4, timeout_key="limit")
    assert (said.outcome, said.code) == ("error", "BK722")
    assert "raise its `limit`" in said.reason


def test_a_time_limit_beyond_what_a_file_may_set_is_refused(world: Judged) -> None:
    with pytest.raises(Refused) as caught:
        world.judged(replace(CHECK, timeout=100_000))
    assert [one.code for one in caught.value.problems] == ["BK408"]


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
said = [ask("/invoke", {{"question": "q"}})["rawText"] for _ in range(3)]
print(json.dumps({{"score": 1, "hits": said}}))
"""
WITH_MODEL = CodeJudge(["judges/asks.py"], target=ModelAccess(2))


@pytest.fixture
def asking(tmp_path: Path) -> Judged:
    world = Judged(tmp_path, config=CONFIG + "  asks: [evals/judges/asks.py]\n")
    world.script("asks.py", ASKS)
    world.reply = "relevant"
    return world


def test_a25_it_asks_the_judges_model_so_often_as_its_file_says_and_no_more(asking: Judged) -> None:
    said = asking.grade(WITH_MODEL)
    assert said.details == {
        "hits": ["relevant", "relevant", "429"],
        "target_proxy": {"call_count": 2, "max_calls": 2},
    }
    assert (said.usage.tokens_in, said.usage.tokens_out) == (20, 10)
    assert [(ask.model, ask.messages[0].content, ask.asker) for ask in asking.asked] == [
        ("judge", "q", "a")
    ] * 2


def test_a25_judge_program_with_a_target_asks_the_model_that_the_configuration_declares(
    asking: Judged,
) -> None:
    asking.script("asks.py", ASKS.replace('{"question": "q"}', '{"question": "q", "target": "strict"}'))
    config = asking.root / "baselinekit.yaml"
    config.write_text(config.read_text().replace("models: {", "models: {strict: {command: [strict]}, "))
    said = asking.grade(WITH_MODEL)
    assert said.details["hits"] == ["relevant", "relevant", "429"]
    assert {ask.model for ask in asking.asked} == {"strict"}


def test_a25_f48_no_key_goes_to_it_and_the_model_is_checked_before_anything_is_asked(asking: Judged) -> None:
    asking.grade(WITH_MODEL)
    environment = asking.specs[-1].env
    passed = {"HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "PATH", "SYSTEMROOT"}
    assert {name for name in environment if "TARGET_PROXY" not in name} <= passed
    asking.known = {"judge"}
    with pytest.raises(InvalidInput):
        asking.judged(replace(WITH_MODEL, model="other"))


def test_a25_a_budget_that_is_used_up_skips_the_case_whatever_the_judge_makes_of_it(asking: Judged) -> None:
    asking.refusal = OutOfBudget(Problem("BK620", "the model 'judge' is not asked: 5 of 5 calls are used"))
    (result,) = asking.judged(WITH_MODEL).results
    assert result.outcome == "skipped"


def test_a25_what_a_judge_that_is_stopped_has_asked_counts(asking: Judged) -> None:
    asking.script("asks.py", ASKS.replace("print(", "import time; time.sleep(60); print("))
    said = asking.grade(replace(WITH_MODEL, timeout=2))
    assert (said.code, said.usage.tokens_in) == ("BK321", 20)
    assert said.details["target_proxy"] == {"call_count": 2, "max_calls": 2}
