"""`baselinekit serve` on the command line: what it prints, what it refuses, and how it ends."""

import json
import shutil
import signal
import socket
import ssl
import subprocess
import sys
from http.client import HTTPSConnection
from pathlib import Path
from threading import Thread

import pytest
from console import ROOT, Console, console
from serving import serving

from baselinekit.web.server import Links, Site, listen, serve

pytestmark = pytest.mark.slow


@pytest.fixture
def project(tmp_path: Path) -> Console:
    with console(tmp_path / "project") as project:
        (project.folder / "baselinekit.yaml").write_text("version: 1\n")
        return project


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (
            "--host 10.0.0.5",
            "BK508 --host 10.0.0.5 answers other machines, and they would read along: add --cert",
        ),
        ("--host 0.0.0.0", "BK508 a link to --host 0.0.0.0 leads nowhere: name the address"),
        ("--host example.test", "BK508 --host example.test answers other machines"),
        ("--cert x.pem", "BK508 --cert has no effect without --key"),
        ("--cert x.pem --key y.pem", "BK111 --cert x.pem cannot be read: no such file or directory"),
        ("--overlap 2", "BK508 --overlap has no effect without --rater"),
        ("--as ' '", "BK741 '' is not the name of a rater"),
        ("nothing.json", "BK111 RESULTS nothing.json cannot be read"),
        ("baselinekit.yaml", "BK101 baselinekit.yaml"),
    ],
)
def test_serve_refuses_what_cannot_work(project: Console, words: str, why: str) -> None:
    ran = project.run(f"baselinekit serve --port 0 {words}")
    assert ran.exit_code == 2
    assert why in ran.stderr
    assert "token" not in ran.stdout


def test_serve_names_a_port_that_is_in_use(project: Console) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        ran = project.run(f"baselinekit serve --port {other.getsockname()[1]}")
    assert ran.exit_code == 2
    assert "address already in use: choose another port: --port 0 takes a free one" in ran.stderr


def test_serve_without_its_extra_names_what_to_install(project: Console) -> None:
    for name in ("starlette", "uvicorn"):
        (project.folder / f"{name}.py").write_text(f"raise ImportError(name='{name}')\n")
    command = [
        sys.executable,
        "-c",
        "import sys; sys.path.insert(0, '.'); from baselinekit.cli.entry import main; main()",
    ]
    ran = subprocess.run(
        [*command, "serve"],
        cwd=project.folder,
        env=project.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 2
    assert ran.stderr.endswith("pip install 'baselinekit[web]'\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_serve_ends_with_a_signal_and_prints_nothing_else(project: Console, number: signal.Signals) -> None:
    at_once = [sys.executable, "-P", str(ROOT / "tests/at.py"), "0", ""]
    process = subprocess.Popen(
        [*at_once, "baselinekit", "serve", "--port", "0", "--rater", "eve"],
        cwd=project.folder,
        env=project.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(4)]
    assert lines[0].startswith("http://127.0.0.1:")
    assert lines[1] == "  0 changes to review, 0 outputs to rate, 0 runs to read\n"
    assert lines[2].startswith("  eve: http://127.0.0.1:")
    process.send_signal(number)
    out, err = process.communicate(timeout=20)
    assert (out, err) == ("ended\n", "")
    assert process.returncode == 0


def test_serve_ends_when_nothing_was_asked_for_its_idle_time() -> None:
    site = Site(Links([]), [], {}, str)
    site.last_asked -= 61
    work = Thread(target=serve, args=(site, listen("127.0.0.1", 0), None, 1, lambda: None), daemon=True)
    work.start()
    work.join(20)
    assert not work.is_alive()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes a certificate with openssl")
def test_serve_with_a_certificate_answers_by_https(project: Console) -> None:
    words = (
        "openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost"
    )
    words += " -addext subjectAltName=IP:127.0.0.1"
    subprocess.run(words.split(), cwd=project.folder, check=True, capture_output=True)
    with serving(project, "--cert", "cert.pem", "--key", "key.pem") as served:
        assert served.url.startswith("https://127.0.0.1:")
        trust = ssl.create_default_context(cafile=str(project.folder / "cert.pem"))
        connection = HTTPSConnection("127.0.0.1", served.port, context=trust, timeout=20)
        connection.request("GET", "/api/about", headers=served.key())
        assert connection.getresponse().status == 200
        connection.close()


def test_serve_shows_what_a_ci_job_found(project: Console) -> None:
    (project.folder / "baselines").mkdir()
    text = "id: one\nbaseline: {output: {exit_code: 0, stdout: a, stderr: ''}}\n"
    text += "current: {input: {argv: [printf, b]}, execution: {type: command}}\n"
    (project.folder / "baselines/one.yaml").write_text(text)
    assert project.run("baselinekit compare --allow-exec -q -o results.json").exit_code == 1
    shutil.rmtree(project.folder / ".baselinekit")
    with serving(project, "results.json") as served:
        found = served.get("/api/review").json
        assert [card["path"] for card in found["cards"]] == ["stdout"]
        assert found["sources"][0]["file"] == "results.json"
        assert served.get("/api/runs").json["runs"][0]["counts"]["failed"] == 1
        (member,) = found["cards"][0]["members"]
        entry = {"id": member["id"], "seen": member["seen"], "decision": "accept"}
        written = served.post("/api/review/write", {"decisions": [entry], "by": "ada"}).json
        assert written["files"] == ["baselines/one.yaml"]
    assert "approved_by: ada" in (project.folder / "baselines/one.yaml").read_text()
    assert json.dumps(written)
