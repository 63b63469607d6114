"""Real files of baselines, broken in every way that chance finds, through everything that reads them: the
loader, the checks, the compiler, and the look at the recipes. A program of its own, so that its death is
noticed.

    python fuzzing.py yaml|json FIRST COUNT FOLDER

The file number N is the same each time. What is wrong is told on standard error, with the number."""

import copy
import json
import os
import random
import re
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from baselinekit.commands.doctor import check_baselines
from baselinekit.commands.project import Operator, Project, open_project
from baselinekit.errors import BaselinekitError, NothingSelected, Problem
from baselinekit.files.jsontext import dump_json
from baselinekit.files.languages import dump_yaml, language
from baselinekit.kinds.settings import Clients
from baselinekit.model.recipes import ProcessResult, ProcessSpec

HERE = Path(__file__).parent
LONGEST = 2.0
"""Seconds for one file: of the processor, as others use the machine too."""
WORDS = {
    "yaml": """[ ] { } # | > ' " &a *a !!x !!str !!binary !!python/object:os.system !<tag:x> \ud800
    \\U00110000 \\x0 \udcff \x00 \ufeff no on ~ .nan .inf -.inf 1e999999999 0o7 0x 1_0 12:30:45 2024-01-15""",
    "json": """[ ] { } : , " \\ / // null true NaN Infinity - {"a": [[ 0 01 1e999 -0 1E+ .5 \x00 \ufeff \udcff
    "\\ud800" "\\u12" "\\x" 'a'""",
    "both": """<<any_uuid>> <<any <<one_of(a,b)>> <<regex('(a+)+$')>> <<var(x)>> \\<< {{x}} {{ {{any_string}}
    $..a users[*].id ** a.b.c $[?(@.a=~'x')] $ ../../x exact structural numeric semantic http skill command
    status body tolerance""",
}
NEAR = ("9" * 2_000, "<<<<<<< a\n", ">>>>>>> b\n", "\u2028", "\n", "\t")
TOKENS: dict[str, list[str]] = {kind: text.split() for kind, text in WORDS.items()}
TOKENS["yaml"] += [*NEAR, ": ", "- ", "? ", ", ", "\r", "|2-\n", ">+\n", "<<: *a", "---\n", "...\n"]
TOKENS["yaml"] += ["%YAML 9\n", "\x85", ":59" * 300, "regression_eval:\n", "metadata:\n", "id: "]
TOKENS["json"] += [*NEAR, '"id": ', '"a", ', "/* */"]
TOKENS["both"] += ["<<number(1 ± 2)>>"]
VALUES: list[Any] = [None, True, False, 0, 1, -1, 10**400, 0.1, 1e300, "", " ", "x" * 3_000, "\x00", "\ud800"]
VALUES += ["\u202e", [], {}, [[]], {"": {}}, [None], {"type": "http"}, {"a": {"b": {"c": [1, {"d": 2}]}}}]
VALUES += [[{"id": 1}, {"id": 2}], *TOKENS["both"]]


def seeds(kind: str) -> list[tuple[str, list[Any]]]:
    """Every real baseline that the tests have, as text and as values; in JSON those that are YAML as well."""
    top = HERE.parent.parent
    folders = [top / "tests/reference", top / "tests/golden", top / "baselines"]
    files = sorted(
        path for folder in folders for path in folder.rglob("*") if path.suffix in (".yaml", ".json")
    )
    found = []
    for path in files:
        text = path.read_text(errors="replace")
        text = text.replace("{now}", "2024-01-20T14:00:00Z").replace("{url}", "http://127.0.0.1:9")
        with suppress(BaselinekitError):
            values = language(path.name).load(text, path.name)
            if kind == "json":
                found.append((dump_json(values[0]), values[:1]))
            elif path.suffix == ".yaml":
                found.append((text, values))
    return [(text, values) for text, values in found if 0 < len(text) < 6_000]


def broken(kind: str, number: int, given: list[tuple[str, list[Any]]]) -> bytes:
    """The file of that number: a third each with values exchanged, with words exchanged, and mangled."""
    source = random.Random(f"{kind} {number}")
    text, values = source.choice(given)
    if number % 3 == 0:
        values = copy.deepcopy(values)
        for _ in range(source.randint(1, 3)):
            exchange(values, source)
        text = dump_json(values[0]) if kind == "json" else "---\n".join(map(dump_yaml, values))
    elif number % 3 == 1:
        for _ in range(source.randint(1, 2)):
            text = changed(text, source, kind, given, 4)
    else:
        for _ in range(source.randint(1, 5)):
            text = changed(text, source, kind, given, source.randrange(6))
    data = text.encode("utf-8", "surrogateescape" if "\ud800" not in text else "surrogatepass")
    if number % 12 == 2:
        at = source.randrange(len(data) + 1)
        data = data[:at] + bytes([source.randrange(256)]) + data[at + source.randrange(2) :]
    return data


def exchange(values: list[Any], source: random.Random) -> None:
    """One value anywhere becomes another, gets another name, or is gone."""
    places = list(inside(values))
    box, key = source.choice(places)
    how = source.randrange(4)
    if how == 0:
        other_box, other = source.choice(places)
        box[key] = copy.deepcopy(other_box[other])
    elif how == 1 and isinstance(box, dict):
        box[source.choice([str(key) + "x", *TOKENS["both"]])] = box.pop(key)
    elif how == 2 and isinstance(box, dict):
        del box[key]
    else:
        box[key] = copy.deepcopy(source.choice(VALUES))


def inside(value: Any) -> Iterator[tuple[Any, Any]]:
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from inside(value[key])


def changed(text: str, source: random.Random, kind: str, given: list[tuple[str, list[Any]]], how: int) -> str:
    at, to = sorted(source.randrange(len(text) + 1) for _ in range(2))
    if how == 0:  # something nasty, once or often
        return text[:at] + source.choice(TOKENS[kind]) * source.choice([1, 1, 2, 100]) + text[at:]
    if how == 1:
        return text[:at] + text[to:]
    if how == 2:  # a part again
        return text[:to] + text[at : at + 200] + text[to:]
    if how == 3:  # a part of another file
        other = source.choice(given)[0]
        start = source.randrange(len(other))
        return text[:at] + other[start : start + source.randrange(300)] + text[at:]
    if how == 4:  # a word for another
        words = re.findall(r"[\w.$<>{}-]+|[^\w.$<>{}-]+", text)
        at = source.randrange(len(words) // 2) * 2 + (not words[0][0].isalnum()) if len(words) > 1 else 0
        words[at : at + 1] = [source.choice(TOKENS[source.choice([kind, "both", "both", "both"])])]
        return "".join(words)
    lines = text.split("\n")
    first_line, other = source.randrange(len(lines)), source.randrange(len(lines))
    lines[first_line], lines[other] = lines[other], lines[first_line]
    return "\n".join(lines)


def clients() -> Clients:
    """Nothing is replayed here."""

    def execute(run: ProcessSpec) -> ProcessResult:
        raise AssertionError("nothing is run")

    def send(*_: object) -> object:
        raise AssertionError("nothing is asked")

    return Clients(send, execute, lambda seconds: None)  # type: ignore[arg-type]


def looked_at(project: Project, file: str) -> list[Problem]:
    try:
        findings = check_baselines(project, [file], clients())
    except NothingSelected:
        return []
    except BaselinekitError as error:
        return list(error.problems)
    return [*findings.problems, *findings.notes]


def main(kind: str, first: int, count: int, folder: str) -> None:
    given = seeds(kind)
    (Path(folder) / "baselinekit.yaml").write_text("base_url: http://127.0.0.1:9\n")
    project = open_project(Operator(cwd=folder))
    path = os.path.join(folder, f"f.{kind}")
    wrong = 0
    slowest = 0.0
    for number in range(first, first + count):
        sys.stdout.write(f"\r{number}")  # the last one is the one that it died of
        sys.stdout.flush()
        with open(path, "wb") as file:
            file.write(broken(kind, number, given))
        began = time.process_time()
        problems = looked_at(project, path)
        took = time.process_time() - began
        slowest = max(slowest, took)
        wrong += bool(problems)
        assert took < LONGEST, f"number {number} took {took:.1f} s"
        for problem in problems:
            place = problem.place
            assert place is not None, f"number {number}: {problem}"
            assert place.line is not None, f"number {number}: {problem}"
            assert place.column is not None, f"number {number}: {problem}"
            assert str(problem).startswith("BK"), f"number {number}: {problem}"
    summary = {"wrong": wrong, "slowest": slowest, "kilobytes": _kilobytes()}
    sys.stdout.write(f"\n{json.dumps(summary)}\n")


def _kilobytes() -> int:
    """The most memory that this process has had; getrusage counts what it was forked from as well."""
    with suppress(OSError):
        status = Path("/proc/self/status").read_text()
        return int(re.findall(r"VmHWM:\s*(\d+) kB", status)[0])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
