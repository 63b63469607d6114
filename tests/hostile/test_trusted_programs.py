"""What may be run, what it sees, and what becomes of it: commands, skills and models, by the real command."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from attacked import Attacked
from server import HostileServer

pytestmark = pytest.mark.slow

PROGRAM = """\
import json, os, sys, time

how = sys.argv[1]
if how == "tells":
    print(json.dumps({"text": " ".join(sorted(os.environ))}))
elif how == "floods":
    while True:
        print("y" * 10_000)
elif how == "sleeps":
    if os.fork() == 0:
        sys.stdout = open(os.devnull, "w")
    open(sys.argv[2] + str(os.getpid()), "w").close()
    time.sleep(60)
"""
CALLABLE = """\
import os, time

def tells(asked):
    return " ".join(sorted(os.environ))

def floods(asked):
    return "y" * 20_000_000

def sleeps(asked):
    os.fork()
    open("{pids}" + str(os.getpid()), "w").close()
    time.sleep(60)
"""

FORGED = """\
import json, os, tempfile

def leaves(asked):
    print(json.dumps({"result": "as it was", "text": "as it was"}), flush=True)
    os._exit(0)

def writes(asked):
    print("as it was")
    return "something else"
"""


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Attacked]:
    with HostileServer() as server:
        project = Attacked(tmp_path / "project", server)
        (tmp_path / "pids").mkdir()
        project.file("tools/program.py", PROGRAM)
        project.file("planted.py", CALLABLE.format(pids=f"{tmp_path}/pids/"))
        yield project


def lay(project: Attacked, how: str, seconds: float = 60) -> list[str]:
    """A baseline of each kind that runs something, and what it runs."""
    argv = ["python", "tools/program.py", how, f"{project.folder.parent}/pids/"]
    program = {"command": argv, "env": ["NAMED"], "timeout": seconds}
    function = {"python": f"planted:{how}", "env": ["NAMED"], "timeout": seconds}
    both = {f"program-{how}": program, f"callable-{how}": function}
    project.configure(skills=both, models=both, commands={how: {"argv": argv, "env": ["NAMED"]}})
    for form in ("program", "callable"):
        skill = {"type": "skill", "skill_name": f"{form}-{how}"}
        project.baseline(f"skill-{form}", [], {"input": {}, "execution": skill})
        prompt = {"type": "prompt", "model": f"{form}-{how}"}
        project.baseline(f"prompt-{form}", [], {"input": {"text": "Go."}, "execution": prompt})
    execution = {"type": "command", "timeout": seconds}
    project.baseline("command", [], {"input": {"argv": [how]}, "execution": execution})
    command = project.folder / "baselines/command.yaml"
    command.write_text(command.read_text().replace("{output: []}", "{output: {stdout: ''}}"))
    return ["command", "prompt-callable", "prompt-program", "skill-callable", "skill-program"]


def test_f40_programs_get_the_named_variables_only(project: Attacked) -> None:
    ids = lay(project, "tells")
    ran = project.run("compare", "--json", env={"NAMED": "yes", "OPENAI_API_KEY": "no", "OTHER": "no"})
    assert sorted(ran.results) == ids
    for id, result in ran.results.items():
        told = json.dumps(result["differences"])
        assert "NAMED" in told, (id, result)
        assert "OPENAI_API_KEY" not in told, id
        assert "OTHER" not in told, id


def test_f29_programs_that_flood_their_output_are_ended(project: Attacked) -> None:
    ids = lay(project, "floods")
    ran = project.measured("compare", "--json")
    assert ran.outcomes == dict.fromkeys(ids, ("error", "BK322")), ran.output[:2_000]
    assert ran.megabytes < 200


def test_f28_programs_that_time_out_leave_no_process(project: Attacked) -> None:
    for seconds in (1, 5, 25):  # on a busy machine it takes a while until all of them sleep
        ids = lay(project, "sleeps", seconds)
        ran = project.run("compare", "--json")
        assert ran.outcomes == dict.fromkeys(ids, ("error", "BK321")), ran.output[:2_000]
        pids = list((project.folder.parent / "pids").iterdir())
        if len(pids) >= 2 * len(ids):
            break
    assert len(pids) >= 2 * len(ids)
    deadline = time.monotonic() + 20
    while left := [pid.name for pid in pids if Path(f"/proc/{pid.name}/cmdline").exists()]:
        assert time.monotonic() < deadline, left
        time.sleep(0.05)


WAYS = [["./run.sh"], ["/bin/sh", "-c", "touch ran"], ["sh", "-c", "touch ran"]]


def test_f15_program_named_by_a_file_is_not_run_until_the_operator_allows_it(project: Attacked) -> None:
    project.file("baselines/run.sh", "#!/bin/sh\ntouch ran\n").chmod(0o755)
    for number, argv in enumerate(WAYS):
        current = {"input": {"argv": argv}, "execution": {"type": "command"}}
        project.baseline(f"added{number}", {"exit_code": 0, "stdout": "", "stderr": ""}, current)
    for words in (["compare"], ["compare", "--json"], ["doctor"], ["explain", "added0"]):
        ran = project.run(*words)
        assert "BK403" in ran.output, words
        assert ran.exit_code == (0 if words == ["doctor"] else 4), words
    draft = project.file("baselines/draft.yaml", json.dumps({"id": "draft", "current": current}))
    assert project.run("capture", "baselines/draft.yaml").exit_code == 4
    draft.unlink()
    assert not list(project.folder.rglob("ran")), "nothing was started"
    allowed = project.run("compare", "--allow-exec")
    assert allowed.exit_code == 0, allowed.output
    assert list(project.folder.rglob("ran"))


def test_f15_configuration_beside_baselines_allows_nothing(project: Attacked) -> None:
    """What a configuration beside the baselines says counts for nothing."""
    project.file(
        "baselines/baselinekit.yaml",
        json.dumps({"version": 1, "skills": {"mine": {"command": ["touch", "ran"]}}}),
    )
    project.file("skills/mine/SKILL.md", "---\nname: mine\n---\nRun `touch ran`.\n")
    skill = {"type": "skill", "skill_name": "mine", "command": ["touch", "ran"]}
    project.baseline("skill", [], {"input": {}, "execution": skill})
    assert project.run("compare").exit_code == 2
    assert not list(project.folder.rglob("ran"))


def test_f38_output_of_a_callable_is_not_its_result(project: Attacked) -> None:
    """Not even where it ends before it gives one."""
    project.file("forged.py", FORGED)
    outcomes = {"leaves": "error", "writes": "failed"}
    entries = {how: {"python": f"forged:{how}"} for how in outcomes}
    project.configure(skills=entries, models=entries)
    for how in outcomes:
        skill = {"input": {}, "execution": {"type": "skill", "skill_name": how}}
        prompt = {"input": {"text": "Go."}, "execution": {"type": "prompt", "model": how}}
        for id, current in ((f"{how}-skill", skill), (f"{how}-prompt", prompt)):
            file = project.baseline(id, [], current)
            file.write_text(file.read_text().replace("{output: []}", "{output: as it was}"))
    ran = project.run("compare", "--json")
    found = {id: outcome for id, (outcome, _) in ran.outcomes.items()}
    assert found == {id: outcomes[id.partition("-")[0]] for id in found}, ran.output
    assert len(found) == 4


def test_f38_name_of_a_callable_is_not_evaluated(project: Attacked) -> None:
    for name in ("planted:tells; touch ran", "planted:__import__('os').system('touch ran')"):
        project.configure(skills={"mine": {"python": name}})
        project.baseline("skill", [], {"input": {}, "execution": {"type": "skill", "skill_name": "mine"}})
        ran = project.run("compare")
        assert (ran.exit_code, "BK324" in ran.err) == (2, True), ran.output
    assert not list(project.folder.rglob("ran"))
