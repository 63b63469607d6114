"""The question of `baselinekit capture` about what looks like an id, in a real terminal."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from test_review import in_terminal

pytestmark = pytest.mark.slow

ID, TENANT = "3f2b8c1e-7a9d-4e21-b6f0-12c9a8d7e456", "9a1c77de-04b2-4f6a-8e3b-5d0f6a7b8c9d"
QUESTION = "these 2 look like ids and did not vary: store placeholders? [y/N]: "


class Steady(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        data = json.dumps({"id": ID, "tenant": TENANT, "n": 1}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is printed."""


@pytest.fixture
def url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Steady) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/order"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(("answer", "stored"), [("y\r", "<<any_uuid(4)>>"), ("\r", ID)], ids=["yes", "enter"])
def test_one_question_decides_about_all_of_them(tmp_path: Path, url: str, answer: str, stored: str) -> None:
    (tmp_path / "baselinekit.yaml").write_text("version: 1\n")
    with in_terminal(tmp_path, "http", url, "--id", "order", command="capture", columns=200) as tty:
        tty.until(QUESTION)
        assert f"  body.id  {ID}" in tty.seen
        assert f"  body.tenant  {TENANT}" in tty.seen
        tty.type(answer, "next: ")
        assert tty.end() == 0
    assert tty.seen.count("store placeholders?") == 1
    text = (tmp_path / "baselines/127.0.0.1/order.yaml").read_text()
    assert f"id: {stored}" in text.replace('"', "")
    assert (TENANT in text.split("captured_at")[0]) == (stored == ID)


@pytest.mark.parametrize(("words", "is_stored"), [(["--placeholder-like", "ids"], False), (["-q"], True)])
def test_where_it_is_answered_already_nothing_is_asked(
    tmp_path: Path, url: str, words: list[str], is_stored: bool
) -> None:
    (tmp_path / "baselinekit.yaml").write_text("version: 1\n")
    with in_terminal(tmp_path, "http", url, "--id", "order", *words, command="capture", columns=200) as tty:
        assert tty.end() == 0
    assert "store placeholders?" not in tty.seen
    text = (tmp_path / "baselines/127.0.0.1/order.yaml").read_text()
    assert (ID in text.split("captured_at")[0]) == is_stored


def test_an_interrupt_at_the_question_writes_nothing(tmp_path: Path, url: str) -> None:
    (tmp_path / "baselinekit.yaml").write_text("version: 1\n")
    with in_terminal(tmp_path, "http", url, "--id", "order", command="capture", columns=200) as tty:
        tty.until(QUESTION)
        tty.leave("\x03")
        assert tty.end() == 130
    assert not list(tmp_path.glob("baselines/**/*.yaml"))
