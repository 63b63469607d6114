"""The files that run one compare on many machines: they parse, what they call exists, and their scripts, run
one after the other as the machines would, come to what one compare of everything does."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
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
    specs = [one["spec"]["template"]["spec"] for one in items(name) if "template" in one["spec"]]
    return [container for spec in specs for container in spec["containers"]]


def shell(here: Console, script: str, **variables: str) -> int:
    path = os.pathsep.join([str(here.bin), str(Path(sys.executable).parent), os.environ["PATH"]])
    environ = {"PATH": path, "HOME": str(here.bin), "LANG": "C.UTF-8", **variables}
    return subprocess.run(
        ["sh", "-c", script], cwd=here.folder, env=environ, check=False, timeout=60
    ).returncode


def project_in(here: Console) -> None:
    (here.folder / "baselines").mkdir()
    for n in range(12):
        text = BASELINE.format(n=n, stored=900 if n == 5 else n)
        (here.folder / f"baselines/b{n:02}.yaml").write_text(text)


def told(here: Console) -> str:
    """A merged report without what two runs never share."""
    text = (here.folder / "results/results.json").read_text()
    return re.sub(r'"(id|started|command|seconds)": ("[^"]*Z"|"baselinekit [^"]*"|[\d.e-]+)', "", text)


def test_the_scripts_of_kubernetes_come_to_what_one_compare_does(tmp_path: Path) -> None:
    compare, merge = containers("kubernetes-shards.yaml")
    with console(tmp_path / "project") as here:
        project_in(here)
        (here.folder / "results").mkdir()
        place = {"RESULTS": str(here.folder / "results"), "SHARDS": "4"}
        for container in (compare, merge):
            assert {one["name"]: one.get("value") for one in container["env"]}["SHARDS"] == "4"
            assert container["command"] == ["sh", "-c"]
        ends = [shell(here, compare["args"][0], JOB_COMPLETION_INDEX=str(n), **place) for n in range(4)]
        assert ends == [0] * 4, "a shard that found a regression has done its work"
        assert shell(here, merge["args"][0], **place) == 1
        merged = told(here)
        (here.folder / "results/results.json").unlink()
        assert here.run("baselinekit compare -q --no-record -o results/results.json").exit_code == 1
        assert told(here) == merged


def test_the_scripts_of_github_come_to_what_one_compare_does(tmp_path: Path) -> None:
    jobs = yaml.safe_load((FOLDER / "baselinekit-shards.yml").read_text("utf-8"))["jobs"]
    shards = jobs["compare"]["strategy"]["matrix"]["shard"]
    (compare,) = (one["run"] for one in jobs["compare"]["steps"] if "compare" in one.get("run", ""))
    (merge,) = (one["run"] for one in jobs["report"]["steps"] if "report" in one.get("run", ""))
    assert jobs["compare"]["env"] == {"SHARD": "${{ matrix.shard }}"}
    with console(tmp_path / "project") as here:
        project_in(here)
        assert [shell(here, compare, SHARD=str(n), CI="true") for n in shards] == [0] * 4
        assert shell(here, merge, CI="true") == 1
        assert '"failed": 1' in (here.folder / "results.json").read_text()


def test_what_the_cluster_of_kubernetes_calls_exists() -> None:
    distributed = pytest.importorskip(
        "distributed", reason="dask is not installed: pip install 'baselinekit[dask]'"
    )
    from distributed.cli import dask_scheduler, dask_worker

    assert distributed.__version__
    commands = {"scheduler": dask_scheduler.main, "worker": dask_worker.main}
    compare = cli.get_command(click.Context(cli), "compare")
    assert compare is not None
    seen = set()
    for container in containers("kubernetes-dask.yaml"):
        program, name, *words = container["command"]
        command = commands[name] if program == "dask" else compare
        seen.add(name)
        known = {option for one in command.params for option in (*one.opts, *one.secondary_opts)}
        assert {word for word in words if word.startswith("--")} <= known
        assert {mount["mountPath"] for mount in container["volumeMounts"]} == {"/tls"}
    assert seen == {"scheduler", "worker", "compare"}
