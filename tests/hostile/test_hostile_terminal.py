"""What comes from outside neither steers the terminal, the runner of a CI job nor the reader's eye, and no
standard output makes the command fall over (F30, F31, F35, F59)."""

import json
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from attacked import Attacked, attacked
from server import JSON, kept, whole

pytestmark = pytest.mark.slow


_RANGES = (range(0x20), range(0x7F, 0xA0), range(0x2000, 0x2070), (0xAD, 0x61C, 0xFEFF, 0xE0041, 0xD800))
_UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
INVISIBLE = "".join(c for some in _RANGES for c in map(chr, some) if unicodedata.category(c) in _UNSEEN)
NASTY = (
    "\x1b]52;c;aGk=\x07\x1b[2J\x9b31m\r\n::error file=a::b\n  ::set-output name=a::b\n##[add-mask]x"
    f"\n##vso[task.setvariable variable=a]b\r::stop-commands::x\u2028::error::y{INVISIBLE}"
)
"""A clipboard, a screen wiped, a colour, five commands to a runner, and every kind of invisible character."""

ODD_NAME = "odd\x1b[31m\u202e\n::error::x -rf 'q' $(id) \x9b.yaml"
LINES = "compare|compare -q|compare -v|compare --json|compare --id value --color always|doctor|doctor --json"
COMMANDS = [line.split() for line in f"{LINES}|doctor --ci|explain named".split("|")]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    with attacked(tmp_path_factory.mktemp("hostile") / "project") as project:
        project.pair("value", "x", NASTY)
        project.pair("key", {"a": 1}, {"a": 2, NASTY: NASTY, "b": [{NASTY: 1}]})
        project.pair(
            "named", {NASTY: {"x": "<<any_integer>>"}}, {NASTY: {"x": "y"}}, name=NASTY, description=NASTY
        )
        project.pair("text", "a\nb\nc", f"a\n{NASTY}\nb\nc")
        project.pair(
            "rules",
            {"a": 1},
            {"a": 1},
            {"ignore_fields": ['"no\x1b\u202e"'], "tolerance": {"x\x9b": {"abs": 1}}},
        )
        project.pair("tagged", {"a": 1}, {"a": 2}, metadata={"tags": [NASTY], "criticality": "high"})
        project.pair("skipped", {"a": 1}, {"a": 2}, metadata={"skip": NASTY})
        project.pair("environment", {"a": 1}, {"a": 2})
        route = project.server.routes
        odd = ("Content-Type: text/plain\x1b[31m", "X-Odd: \x9b::error::\x7f")
        route["/headers"] = kept(whole(b"{}", *odd))
        project.baseline("headers", {"headers": {"content-type": "text/html", "x-odd": "y"}})
        route["/coding"] = kept(whole(b"{}", "Content-Encoding: x\x1b[31m\x9b"))
        project.baseline("coding", {"body": {}})
        route["/twice"] = kept(whole(b"{%s:1,%s:1}" % ((json.dumps(NASTY).encode(),) * 2), JSON))
        project.baseline("twice", {"body": {}})
        route["/place"] = kept(whole(b"", "Location: http://x\x1b]0;t\x07/\x9b", status="302 Found"))
        project.baseline("place", {"body": {}, "status": 200})
        project.file(
            f"baselines/{ODD_NAME}",
            (project.folder / "baselines/value.yaml").read_text().replace("value", "odd", 1),
        )
        (project.folder / "baselines/value.yaml").rename(project.folder / "baselines/- v.yaml")
        yield project


def unseen(text: str) -> set[str]:
    """Characters that nobody sees, apart from the ends of lines."""
    return {c for c in text if unicodedata.category(c) in _UNSEEN and c != "\n"}


def commands_to_a_runner(text: str) -> list[str]:
    """As it reads them: one form after any blanks at the beginning of a line, the other wherever it is."""
    lines = re.split("\r\n|\r|\n", text)
    return [line for line in lines if line.strip().startswith("::") or re.search(r"##\w*\[", line)]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_f30_f31_output_of_hostile_values_steers_no_terminal(hostile: Attacked, words: list[str]) -> None:
    ran = hostile.run(*words)
    assert ran.exit_code in ((0,) if words[0] in ("doctor", "explain") else (1, 3))
    text = ran.output
    assert "internal error" not in text
    if "always" in words:
        text = re.sub(r"\x1b\[\d+(;\d+)*m", "", text)
    assert unseen(text) == set()
    assert commands_to_a_runner(text) == []
    if words[0] == "compare" and words[1:] not in (["--json"], ["-q"]):
        assert "\\x1b" in text or "\\u001b" in text


def test_f30_errors_of_hostile_files_steer_no_terminal(tmp_path: Path) -> None:
    with attacked(tmp_path / "project") as project:
        project.file("baselines/a\x1b]0;x\x07.yaml", f"id: a\n{json.dumps(NASTY)}: 1\n")
        project.file("baselines/b.yaml", f"id: {json.dumps(NASTY)}\n")
        project.file("baselines/c.yaml", "id: c\nbaseline: {output: \x1b[31m}\n")
        project.baseline("d", {"body": f"<<any_x{NASTY}>>"})
        project.file(b"baselines/\xff\xfe.yaml".decode("utf-8", "surrogateescape"), "id: [")
        for words in (
            ["compare"],
            ["doctor"],
            ["compare", "\x1b[31m.yaml"],
            ["compare", "--id", "\x1b\u202e*"],
        ):
            ran = project.run(*words)
            assert ran.exit_code in (2, 5), words
            assert unseen(ran.output) == set(), words
            assert commands_to_a_runner(ran.output) == []


@pytest.mark.parametrize(
    "environment",
    [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}],
    ids=lambda environment: "-".join(environment.values()).replace(":", "-"),
)
def test_f35_output_is_encoded_for_any_standard_output(tmp_path: Path, environment: dict[str, str]) -> None:
    encoding = environment.get("PYTHONIOENCODING", "ascii").split(":")[0]
    with attacked(tmp_path / "project") as project:
        project.pair(
            "a",
            {"é": "→ 漢 \ud83d\ude00 \ud800"},
            {"é": "← 漢 \ud83d\ude00 \udfff", "ü": 1},
            name="Zoë ✓ \U0001f600",
        )
        project.file(
            "baselines/ü 漢.yaml", (project.folder / "baselines/a.yaml").read_text().replace("a", "b", 1)
        )
        reports = ["-o", "r.junit.xml", "-o", "r.md", "-o", "r.json"]
        for words in (["compare", "-v", *reports], ["--help"], ["explain", "a"]):
            ran = project.run(*words, env=environment)
            assert ran.exit_code == (1 if "-v" in words else 0), ran.raw
            assert b"Traceback" not in b"".join(ran.raw)
            ran.raw[0].decode(encoding)
        shown = project.run("compare", "--json", env=environment).raw[0]
        results = json.loads(shown.decode(encoding))["results"]
        assert [result["name"] for result in results] == ["Zoë ✓ \U0001f600"] * 2
        assert results[0]["differences"][0]["actual"] == "← 漢 \U0001f600 \udfff"
        for report in ("r.junit.xml", "r.md", "r.json"):
            assert len((project.folder / report).read_bytes().decode("utf-8")) > 500


def test_f59_compare_whose_reader_stops_ends_silently(tmp_path: Path) -> None:
    with attacked(tmp_path / "project") as project:
        project.pair("many", list(range(3_000)), [-n - 1 for n in range(3_000)])
        ran = project.measured(shell="{tool} compare --json | head -c 1; echo ${PIPESTATUS[0]}")
        assert (ran.out, ran.err) == ("{141\n", "")
        project.pair("many", list(range(3_000)), list(range(3_000)))
        ran = project.measured(shell="{tool} compare -v | head -1; echo ${PIPESTATUS[0]}")
        assert ran.out.splitlines()[-1] in ("0", "141")  # a pipe holds as little as this
        assert ran.err == ""


@pytest.mark.parametrize(
    ("redirection", "message"),
    [
        ("<&- >&-", ""),
        (">&- 2>&-", ""),
        ("> /dev/full", "BK120 standard output: no space left on device"),
        ("> /dev/full 2>&1", ""),
        ("2> /dev/full", ""),
    ],
)
def test_f59_closed_or_full_streams_change_no_verdict(tmp_path: Path, redirection: str, message: str) -> None:
    with attacked(tmp_path / "project") as project:
        project.pair("a", {"a": 1}, {"a": 2})
        ran = project.measured(shell="{tool} compare " + redirection)
        assert (ran.exit_code, message in ran.err) == (1, True)
        assert not re.search("Traceback|Exception ignored", ran.output)


def test_f59_compare_with_any_width_of_the_terminal_shows_bounded_lines(hostile: Attacked) -> None:
    for columns in ("1", "-5", "many", "1000000"):
        ran = hostile.run("compare", "--id", "key", "--id", "text", env={"COLUMNS": columns})
        assert (ran.exit_code, "body.a" in ran.out) == (1, True), columns
        assert max(map(len, ran.out.splitlines())) < 3_000
