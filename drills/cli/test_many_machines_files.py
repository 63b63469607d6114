"""The files that run one compare on many machines: they parse, what they call exists, and their scripts, run
one after the other as the machines would, come to what one compare of everything does."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from commandline import timeless
from console import ROOT, Console, console

from baselinekit.cli.main import cli

FOLDER = ROOT / "docs/examples"
BASELINE = """\
id: b{n}
baseline: {{output: {{n: {stored}}}}}
current: {{input: {{n: {n}}}, execution: {{type: echo}}}}
"""


def items(name: str) -> list[dict[str, Any]]:
    document = yaml.safe_load((FOLDER / name).read_text("utf-8"))
    assert document["kind"] == "List"
    return list(document["items"])


def containers(name: str) -> list[dict[str, Any]]:
    specs = [item["spec"]["template"]["spec"] for item in items(name) if "template" in item["spec"]]
    return [container for spec in specs for container in spec["containers"]]


def shell(project: Console, script: str, **variables: str) -> int:
    path = os.pathsep.join([str(project.bin), str(Path(sys.executable).parent), os.environ["PATH"]])
    environ = {"PATH": path, "HOME": str(project.bin), "LANG": "C.UTF-8", **variables}
    return subprocess.run(
        ["sh", "-c", script], cwd=project.folder, env=environ, check=False, timeout=60
    ).returncode


def project_in(project: Console) -> None:
    (project.folder / "baselines").mkdir()
    for n in range(12):
        text = BASELINE.format(n=n, stored=900 if n == 5 else n)
        (project.folder / f"baselines/b{n:02}.yaml").write_text(text)


def test_kubernetes_shards_merge_to_the_report_of_one_compare(tmp_path: Path) -> None:
    compare, merge = containers("kubernetes-shards.yaml")
    with console(tmp_path / "project") as project:
        project_in(project)
        (project.folder / "results").mkdir()
        place = {"RESULTS": str(project.folder / "results"), "SHARDS": "4"}
        for container in (compare, merge):
            assert {item["name"]: item.get("value") for item in container["env"]}["SHARDS"] == "4"
            assert container["command"] == ["sh", "-c"]
        ends = [shell(project, compare["args"][0], JOB_COMPLETION_INDEX=str(n), **place) for n in range(4)]
        assert ends == [0] * 4, "a shard that found a regression has done its work"
        assert shell(project, merge["args"][0], **place) == 1
        merged = timeless(project.folder / "results/results.json")
        (project.folder / "results/results.json").unlink()
        assert project.run("baselinekit compare -q --no-record -o results/results.json").exit_code == 1
        assert timeless(project.folder / "results/results.json") == merged


def test_github_shards_merge_to_the_report_of_one_compare(tmp_path: Path) -> None:
    jobs = yaml.safe_load((FOLDER / "baselinekit-shards.yml").read_text("utf-8"))["jobs"]
    shards = jobs["compare"]["strategy"]["matrix"]["shard"]
    (compare,) = (item["run"] for item in jobs["compare"]["steps"] if "compare" in item.get("run", ""))
    (merge,) = (item["run"] for item in jobs["report"]["steps"] if "report" in item.get("run", ""))
    assert jobs["compare"]["env"] == {"SHARD": "${{ matrix.shard }}"}
    with console(tmp_path / "project") as project:
        project_in(project)
        assert [shell(project, compare, SHARD=str(n), CI="true") for n in shards] == [0] * 4
        assert shell(project, merge, CI="true") == 1
        assert '"failed": 1' in (project.folder / "results.json").read_text()


def test_kubernetes_dask_calls_existing_commands() -> None:
    distributed = pytest.importorskip(
        "distributed", reason="dask is not installed: pip install 'baselinekit[dask]'"
    )
    from distributed.cli import dask_scheduler, dask_worker

    assert distributed.__version__
    commands = {"scheduler": dask_scheduler.main, "worker": dask_worker.main}
    compare = cli.get_command(click.Context(cli), "compare")
    assert compare is not None
    commands_seen = set()
    for container in containers("kubernetes-dask.yaml"):
        program, name, *words = container["command"]
        command = commands[name] if program == "dask" else compare
        commands_seen.add(name)
        known = {option for item in command.params for option in (*item.opts, *item.secondary_opts)}
        assert {word for word in words if word.startswith("--")} <= known
        assert {mount["mountPath"] for mount in container["volumeMounts"]} == {"/tls"}
    assert commands_seen == {"scheduler", "worker", "compare"}
