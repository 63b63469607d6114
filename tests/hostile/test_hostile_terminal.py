"""What comes from outside neither steers the terminal, the runner of a CI job nor the reader's eye, and no
standard output makes the command fall over (F30, F31, F35, F59)."""

import json
import os
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from answers import Answer, World, world

pytestmark = pytest.mark.slow

THOROUGH = bool(os.environ.get("BASELINEKIT_THOROUGH"))

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
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world(tmp_path_factory.mktemp("hostile") / "project") as here:
        here.baseline("value", "x", NASTY)
        here.baseline("key", {"a": 1}, {"a": 2, NASTY: NASTY, "b": [{NASTY: 1}]})
        here.baseline(
            "named", {NASTY: {"x": "<<any_integer>>"}}, {NASTY: {"x": "y"}}, name=NASTY, description=NASTY
        )
        here.baseline("text", "a\nb\nc", f"a\n{NASTY}\nb\nc")
        here.baseline(
            "rules",
            {"a": 1},
            {"a": 1},
            {"ignore_fields": ['"no\x1b\u202e"'], "tolerance": {"x\x9b": {"abs": 1}}},
        )
        here.baseline("tagged", {"a": 1}, {"a": 2}, metadata={"tags": [NASTY], "criticality": "high"})
        here.baseline("skipped", {"a": 1}, {"a": 2}, metadata={"skip": NASTY})
        here.baseline("environment", {"a": 1}, {"a": 2})
        odd = (("Content-Type", "text/plain\x1b[31m"), ("X-Odd", "\x9b::error::\x7f"))
        here.answers["/headers"] = Answer(b"{}", headers=odd)
        here.write("headers", {"headers": {"content-type": "text/html", "x-odd": "y"}}, {})
        here.answers["/coding"] = Answer(b"{}", headers=(("Content-Encoding", "x\x1b[31m\x9b"),))
        here.write("coding", {"body": {}}, {})
        here.answers["/twice"] = Answer(b"{%s:1,%s:1}" % ((json.dumps(NASTY).encode(),) * 2))
        here.write("twice", {"body": {}}, {})
        here.answers["/place"] = Answer(b"", 302, (("Location", "http://x\x1b]0;t\x07/\x9b"),))
        here.write("place", {"body": {}, "status": 200}, {})
        here.answers["/text"] = Answer(json.dumps(f"a\n{NASTY}\nb\nc").encode())
        here.file(
            f"baselines/{ODD_NAME}",
            (here.folder / "baselines/value.yaml").read_text().replace("value", "odd", 1),
        )
        (here.folder / "baselines/value.yaml").rename(here.folder / "baselines/- v.yaml")
        yield here


def unseen(text: str) -> set[str]:
    """Characters that nobody sees, apart from the ends of lines."""
    return {c for c in text if unicodedata.category(c) in _UNSEEN and c != "\n"}


def commands_to_a_runner(text: str) -> list[str]:
    """As it reads them: one form after any blanks at the beginning of a line, the other wherever it is."""
    lines = re.split("\r\n|\r|\n", text)
    return [line for line in lines if line.strip().startswith("::") or re.search(r"##\w*\[", line)]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_f30_f31_nothing_shown_steers_a_terminal_or_a_runner(hostile: World, words: list[str]) -> None:
    ran = hostile.run(*words)
    assert ran.exit_code in ((0,) if words[0] in ("doctor", "explain") else (1, 3))
    assert b"internal error" not in ran.said
    text = ran.said.decode("utf-8")
    if "always" in words:
        text = re.sub(r"\x1b\[\d+(;\d+)*m", "", text)
    assert unseen(text) == set()
    assert commands_to_a_runner(text) == []
    if words[0] == "compare" and words[1:] not in (["--json"], ["-q"]):
        assert "\\x1b" in text or "\\u001b" in text


def test_f30_errors_before_any_run_are_harmless_too(tmp_path: Path) -> None:
    with world(tmp_path / "project") as here:
        here.file("baselines/a\x1b]0;x\x07.yaml", f"id: a\n{json.dumps(NASTY)}: 1\n")
        here.file("baselines/b.yaml", f"id: {json.dumps(NASTY)}\n")
        here.file("baselines/c.yaml", "id: c\nbaseline: {output: \x1b[31m}\n")
        here.write("d", {"body": f"<<any_x{NASTY}>>"}, {})
        here.file(b"baselines/\xff\xfe.yaml".decode("utf-8", "surrogateescape"), "id: [")
        for words in (
            ["compare"],
            ["doctor"],
            ["compare", "\x1b[31m.yaml"],
            ["compare", "--id", "\x1b\u202e*"],
        ):
            ran = here.run(*words)
            assert ran.exit_code in (2, 5), words
            assert unseen(ran.said.decode("utf-8")) == set(), words
            assert commands_to_a_runner(ran.said.decode("utf-8")) == []


def test_f30_what_a_shell_is_offered_is_harmless_too(hostile: World) -> None:
    for option, kind in (("--id", "named"), ("--tag", "")):
        words = {"COMP_WORDS": f"baselinekit compare {option} ", "COMP_CWORD": "3"}
        ran = hostile.run(env={**words, "_BASELINEKIT_COMPLETE": "zsh_complete"})
        assert kind in ran.text
        assert unseen(ran.text) == set()


@pytest.mark.parametrize(
    "environment",
    [
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "latin-1:strict"},
        {"PYTHONIOENCODING": "cp1252"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ],
    ids=lambda environment: "-".join(environment.values()).replace(":", "-"),
)
def test_f35_any_standard_output_takes_everything(tmp_path: Path, environment: dict[str, str]) -> None:
    encoding = environment.get("PYTHONIOENCODING", "ascii").split(":")[0]
    with world(tmp_path / "project") as here:
        here.baseline(
            "a",
            {"é": "→ 漢 \ud83d\ude00 \ud800"},
            {"é": "← 漢 \ud83d\ude00 \udfff", "ü": 1},
            name="Zoë ✓ \U0001f600",
        )
        here.file("baselines/ü 漢.yaml", (here.folder / "baselines/a.yaml").read_text().replace("a", "b", 1))
        others = [["doctor"], ["--help"], ["compare", "--help"], ["explain", "a"]]
        reports = ["-o", "r.junit.xml", "-o", "r.md", "-o", "r.json"]
        for words in (
            ["compare", "-v", *reports],
            *(others if THOROUGH or encoding == "ascii" else others[-1:]),
        ):
            ran = here.run(*words, env=environment)
            assert ran.exit_code == (1 if "-v" in words else 0), ran.said
            assert b"Traceback" not in ran.said
            ran.out.decode(encoding)
        shown = here.run("compare", "--json", env=environment).out
        results = json.loads(shown.decode(encoding))["results"]
        assert [result["name"] for result in results] == ["Zoë ✓ \U0001f600"] * 2
        assert results[0]["differences"][0]["actual"] == "← 漢 \U0001f600 \udfff"
        for report in ("r.junit.xml", "r.md", "r.json"):
            assert len((here.folder / report).read_bytes().decode("utf-8")) > 500


def test_f59_a_reader_that_has_enough_ends_it_without_a_word(tmp_path: Path) -> None:
    with world(tmp_path / "project") as here:
        here.baseline("many", list(range(9_000)), [-n - 1 for n in range(9_000)])
        ran = here.run(shell="{tool} compare --json | head -c 1; echo ${PIPESTATUS[0]}")
        assert (ran.text, ran.err) == ("{141\n", b"")
        here.baseline("many", list(range(9_000)), list(range(9_000)))
        ran = here.run(shell="{tool} compare -v | head -1; echo ${PIPESTATUS[0]}")
        assert ran.text.splitlines()[-1] in ("0", "141")  # a pipe holds as little as this
        assert ran.err == b""


@pytest.mark.parametrize(
    ("redirection", "codes", "says"),
    [
        (">&-", (1,), b""),
        (">&- 2>&-", (1,), b""),
        ("<&-", (1,), b""),
        ("> /dev/full", (1,), b"BK120 standard output: no space left on device"),
        ("> /dev/full 2>&1", (1,), b""),
        ("2> /dev/full", (1,), b""),
    ],
)
def test_f59_a_standard_output_that_takes_nothing_is_no_traceback(
    tmp_path: Path, redirection: str, codes: tuple[int, ...], says: bytes
) -> None:
    with world(tmp_path / "project") as here:
        here.baseline("a", {"a": 1}, {"a": 2})
        ran = here.run(shell="{tool} compare " + redirection)
        assert ran.exit_code in codes
        assert says in ran.err
        assert b"Traceback" not in ran.said
        assert b"Exception ignored" not in ran.said


@pytest.mark.parametrize("columns", ["1", "-5", "many", "1000000"])
def test_f59_no_width_is_too_odd(hostile: World, columns: str) -> None:
    ran = hostile.run("compare", "--id", "key", "--id", "text", env={"COLUMNS": columns})
    assert ran.exit_code == 1
    assert max(map(len, ran.text.splitlines())) < 3_000
    assert "body.a" in ran.text
