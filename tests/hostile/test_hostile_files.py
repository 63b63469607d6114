"""Files that somebody made to hurt: each is an error with its place, soon, and in little memory."""

import os
import re
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from steady import Steady
from warm import Ended, Warm

pytestmark = pytest.mark.slow

RECORD = """\
id: x
baseline: {output: OUTPUT}
current: {input: {endpoint: /n}, execution: {type: http}}
"""
FINE = RECORD.replace("OUTPUT", "{status: 200, body: {n: 1}}")
LONGEST = 2.0
MOST_KB = 300_000
MANY = 100_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "baselines").mkdir(parents=True)
    (root / "baselinekit.yaml").write_text("base_url: http://127.0.0.1:9\n")
    return root


def holding(output: str | bytes) -> bytes:
    return RECORD.encode().replace(b"OUTPUT", output if isinstance(output, bytes) else output.encode())


def spoken(ended: Ended, seconds: float = LONGEST) -> Ended:
    assert "Traceback" not in ended.said, ended.said
    assert "BK399" not in ended.said, ended.said
    assert ended.exit_code >= 0, ended
    assert ended.seconds < seconds + 1, ended
    assert ended.cpu < seconds, ended
    assert ended.kilobytes < MOST_KB, ended
    return ended


LAUGH = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{','.join([f'*{chr(97 + i)}'] * 9)}]\n" for i in range(9)
)
TAKES_ALIASES = "{a: &a " + "x" * 1_000_000 + ", b: [" + "*a," * 9_000 + "]}"
RECORDS = "".join(
    f"- id: x{i}\n  baseline: {{output: 1}}\n"
    "  current: {input: {endpoint: /n}, execution: {type: http}}\n"
    for i in range(3_000)
)
MANY_PROBLEMS = (
    r"BK225 FILE:2:22: (.|\n)*FILE:59:22: [^\n]*\n"
    r"BK225 FILE: … and 2,980 more problems in this file"
)
HOSTILE: dict[str, list[tuple[str, str | bytes, str]]] = {
    "f23_nesting": [
        ("a.yaml", "[" * MANY, r"BK101 FILE:1:1001: .* nesting depth"),
        ("a.yaml", "- " * MANY, r"BK106 FILE:1:129: nested more than 64"),
        ("a.yaml", "? " * MANY, r"BK107 FILE:1:3: a key of type object"),
        ("a.yaml", "{a: " * MANY, r"BK106 FILE:1:257: nested more than 64"),
        ("a.yaml", "".join(" " * i + "a:\n" for i in range(1_000)), r"BK106 FILE:65:65: nested"),
        ("a.json", '{"a":' * MANY, r"BK106 FILE:1:321: nested"),
    ],
    "f24_aliases": [
        ("a.yaml", LAUGH, r"BK106 FILE:6:11: more than 200,000 values"),
        ("a.yaml", "a: &a {x: 1}\nb: {<<: [*a, *a]}\n", r"BK107 FILE:2:5: the key << is a merge key"),
        ("a.yaml", holding(TAKES_ALIASES), r"BK106 FILE:2:1\d{6}: more than 200,000 values"),
        ("a.yaml", "&a [*a]\n", r"BK101 FILE:1:5: the alias \*a is undefined"),
        ("a.yaml", holding("[" + "1," * 300_000 + "]"), r"BK106 FILE:2:600\d+: more than 200,000 values"),
    ],
    "f25_broken": [
        ("a.yaml", b"id: \0\n", r"BK101 FILE:1:5: not valid YAML: control characters"),
        ("a.yaml", bytes(range(256)), r"BK101 FILE:2:118: byte 0x80 is not UTF-8"),
        ("a.yaml", "id: x\n".encode("utf-16"), r"BK101 FILE:1:1: byte 0xff is not UTF-8"),
        ("a.yaml", b"", r"BK110 FILE:1:1: not a baseline: the file is empty"),
        ("a.json", b"", r"BK101 FILE:1:1: not valid JSON"),
        ("a.yaml", "id: !!python/object/apply:os.system [id]\n", r"BK107 FILE:1:5: the tag !!python/object"),
        ("a.yaml", "%TAG ! tag:evil,2000:\n---\nid: !x y\n", r"BK107 FILE:3:5: the tag tag:evil,2000:x"),
        ("a.yaml", "%YAML 9.9\n---\nid: x\n", r"BK101 FILE:1:1: not valid YAML"),
        ("a.json", '{"id": ' + "1" * 5_000 + "}", r"BK106 FILE:1:8: a number of more than 1,000 digits"),
        ("a.yaml", holding("1e999999999"), r"BK106 FILE:2:20: a number of more than 1,000 digits"),
        ("a.yaml", holding("{1: a, null: b}"), r"BK107 FILE:2:21: the key 1 is a number"),
        ("a.yaml", "#" * 20_000_001, r"BK106 FILE: larger than 20,000,000 bytes"),
        ("a.yaml", "--- {}\n" * MANY, r"BK110 FILE:1:5: not a baseline"),
        ("a.json", '{"id": NaN}', r"BK106 FILE:1:8: NaN, which is not a JSON value"),
        ("a.yaml", holding("{status: 200, body: '" + r"<<regex(\'" * 9_000 + "'}"), r"BK\d+ FILE:"),
        ("a.yaml", holding("'" + "\\" * 500_000 + "<<any>>'"), r"BK225 FILE:2:20"),
    ],
    "f25_many": [("a.yaml", RECORDS, MANY_PROBLEMS)],
    "f27_twice": [
        ("a.yaml", holding("1" + ":59" * 200_000), r"BK225 FILE:2:20: .* not string"),
        ("a.yaml", "<<<<<<< A\nid: x\n=======\nid: y\n>>>>>>> b\n", r"BK101 FILE:1:1: an unresolved git"),
        ("a.yaml", "id: x\nid: y\n", r"BK102 FILE:2:1: the key 'id' occurs twice: remove one of the two"),
        ("a.json", '{"id": 1,\n"id": 2}', r"BK102 FILE:2:1: the key 'id' occurs twice"),
    ],
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_f23_f24_f25_f27_doctor_reports_each_broken_file_at_its_place(
    runs: Warm, folder: Path, kind: str
) -> None:
    cases = [
        (f"baselines/{n:02}{name[1:]}", data, words) for n, (name, data, words) in enumerate(HOSTILE[kind])
    ]
    for name, data, _ in cases:
        (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    ended = spoken(runs.run(folder, "doctor"), LONGEST * 3)
    assert ended.exit_code == 2
    for name, _, words in cases:
        assert re.search("^" + words.replace("FILE", re.escape(name)), ended.out, re.MULTILINE), (name, words)


SURPRISES = {"a": "no", "b": "on", "c": "12:30:45", "d": "1_000", "e": "2024-01-15T10:30:00Z", "f": "0b1"}
NUMBERS = "g: 014, h: 0o17, i: 0x1F, j: 1e3, k: ~, l: TRUE"


@pytest.mark.slow
def test_f26_words_of_yaml_1_1_are_read_by_the_rules_of_1_2(runs: Warm, folder: Path) -> None:
    """Read by the rules of 1.2; and what is captured, a reader of 1.1 understands as it was meant."""
    import yaml

    body = {**SURPRISES, "g": 14, "h": 15, "i": 31, "j": 1000, "k": None, "l": True}
    stated = ", ".join(f"{key}: {text}" for key, text in SURPRISES.items())
    with Steady(body) as service:
        (folder / "baselinekit.yaml").write_text(f"base_url: {service.url}\n")
        path = folder / "baselines/a.yaml"
        path.write_bytes(holding(f"{{status: 200, body: {{{stated}, {NUMBERS}}}}}"))
        assert spoken(runs.run(folder, "compare")).exit_code == 0
        captured = spoken(runs.run(folder, "capture", "http", "GET", "/n", "--id", "new", "--group", "g"))
        assert captured.exit_code == 0, captured.said
        assert spoken(runs.run(folder, "compare")).exit_code == 0
    with (folder / "baselines/g/new.yaml").open() as file:
        assert yaml.safe_load(file)["baseline"]["output"]["body"] == body


def test_compare_reads_and_records_files_with_odd_line_ends(runs: Warm, folder: Path) -> None:
    texts = [FINE.replace("\n", "\r"), FINE.replace("\n", "\r\n"), "\ufeff" + FINE]
    texts = [text.replace("id: x", f"id: x{number}") for number, text in enumerate(texts)]
    files = [folder / f"baselines/{number}.yaml" for number in range(len(texts))]
    for file, text in zip(files, texts, strict=True):
        file.write_bytes(text.encode())
    with Steady({"n": 1}) as service:
        assert spoken(runs.run(folder, "compare", "--base-url", service.url)).exit_code == 0
    record = r"[\r\n]*metadata:[\r\n]+  last_passed: .*Z\W+failure_count: 0[\r\n]+"
    for file, text in zip(files, texts, strict=True):
        after = file.read_bytes().decode()
        assert after.startswith(text.rstrip("\r\n"))
        assert re.fullmatch(record, after[len(text) :])


Layer = Callable[[Path, Path], object]


def make_socket(path: Path, outside: Path) -> None:
    with socket.socket(socket.AF_UNIX) as opened:
        before = os.getcwd()
        os.chdir(path.parent)  # its name would be too long
        try:
            opened.bind(path.name)
        finally:
            os.chdir(before)


ODD: dict[str, tuple[Layer, str]] = {
    "link-out": (lambda path, outside: path.symlink_to(outside / "secret.yaml"), "BK404"),
    "link-to-itself": (lambda path, outside: path.symlink_to(path.name), "BK111"),
    "link-to-nothing": (lambda path, outside: path.symlink_to("nothing"), "BK111"),
    "link-to-device": (lambda path, outside: path.symlink_to("/dev/zero"), "BK404"),
    "pipe": (lambda path, outside: os.mkfifo(path), "BK111"),
    "socket": (make_socket, "BK111"),
}


def test_f42_files_that_are_not_regular_files_of_the_project_are_not_read(
    runs: Warm, folder: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.yaml").write_text("hunter2: 1\n")
    for kind, (make, _) in ODD.items():
        make(folder / f"baselines/{kind}.yaml", outside)
    found = spoken(runs.run(folder, "doctor"))
    assert spoken(runs.run(folder, "compare")).exit_code in (2, 4)
    for kind, (_, code) in ODD.items():
        name = f"baselines/{kind}.yaml"
        named = spoken(runs.run(folder, "doctor", name))
        assert (named.exit_code, named.out.startswith(f"{code} {name}")) == (2, True), named.out
        assert f"{code} {name}" in found.out
    assert spoken(runs.run(folder, "compare", "baselines/link-out.yaml")).exit_code == 4
    assert spoken(runs.run(folder, "compare", "baselines/pipe.yaml")).exit_code == 2
    assert "hunter2" not in found.said
    assert (outside / "secret.yaml").read_text() == "hunter2: 1\n"


def test_f42_link_to_a_folder_outside_is_refused(runs: Warm, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/a.yaml").write_text("hunter2: 1\n")
    (folder / "baselines/link").symlink_to(tmp_path / "outside")
    assert spoken(runs.run(folder, "compare")).exit_code == 5
    named = spoken(runs.run(folder, "compare", "baselines/link"))
    assert (named.exit_code, "hunter2" in named.said) == (4, False)
    assert named.err.startswith("BK404 baselines/link/a.yaml leads out of the project")


OUTSIDE = """../../outside/secret.txt x/../../../outside/secret.txt /etc/passwd ../../project-evil/secret.txt
../.git/config .git/config link.txt link/secret.txt /dev/zero"""


def test_f43_ids_that_differ_in_case_only_are_refused(runs: Warm, folder: Path) -> None:
    (folder / "baselines/a.yaml").write_text(FINE.replace("id: x", "id: Orders"))
    (folder / "baselines/b.yaml").write_text(FINE.replace("id: x", "id: orders"))
    ended = spoken(runs.run(folder, "compare"))
    assert ended.exit_code == 2
    assert "BK109 baselines/b.yaml:1:5: the id 'orders' occurs twice: 'Orders' is at" in ended.err
    taken = spoken(runs.run(folder, "capture", "http", "GET", "http://127.0.0.1:9/", "--id", "ORDERS"))
    assert (taken.exit_code, taken.err[:5]) == (2, "BK113"), taken.said


OUTPUTS = [*((name, "BK404") for name in OUTSIDE.split()), ("large.txt", "BK106")]
OUTPUTS += [(name, "BK111") for name in ("pipe.txt", ".", '""', r'"a\0b"', "missing.json")]


def test_f41_output_files_outside_of_the_project_are_not_read(
    runs: Warm, folder: Path, tmp_path: Path
) -> None:
    for other in ("outside", "project-evil"):
        (tmp_path / other).mkdir()
        (tmp_path / other / "secret.txt").write_text("hunter2")
    for git in (folder / ".git", folder / "baselines/.git"):
        git.mkdir()
        (git / "config").write_text("hunter2")
    (folder / "baselines/link").symlink_to(tmp_path / "outside")
    (folder / "baselines/link.txt").symlink_to(tmp_path / "outside/secret.txt")
    os.mkfifo(folder / "baselines/pipe.txt")
    with (folder / "baselines/large.txt").open("wb") as large:
        large.truncate(70_000_000)
    for number, (name, _) in enumerate(OUTPUTS):
        record = RECORD.replace("output: OUTPUT", f"output_file: {name}").replace("id: x", f"id: x{number}")
        (folder / f"baselines/{number}.yaml").write_text(record)
    ended = spoken(runs.run(folder, "doctor"))
    for number, (name, code) in enumerate(OUTPUTS):
        assert f"{code} baselines/{number}.yaml:2:25: " in ended.out, (name, ended.out)
    for number, exit_code in ((0, 4), (len(OUTPUTS) - 1, 2)):
        compared = spoken(runs.run(folder, "compare", f"baselines/{number}.yaml"))
        assert compared.exit_code == exit_code, compared.said
    assert not re.search("hunter2|root:", ended.said)


@pytest.mark.parametrize("name", ["baselines: ../outside", "baselines: .git", "evals: /etc"])
def test_f41_folders_of_baselines_and_evals_outside_of_the_project_are_refused(
    runs: Warm, folder: Path, tmp_path: Path, name: str
) -> None:
    (tmp_path / "outside").mkdir()
    (folder / ".git").mkdir()
    (folder / "baselinekit.yaml").write_text(name + "\n")
    for words in (["compare"], ["capture", "http", "GET", "http://127.0.0.1:9/n"]):
        ended = spoken(runs.run(folder, *words))
        assert (ended.exit_code, ended.err[:5]) == (4, "BK404"), ended.said


IDS = ["../../.git/hooks/pre-commit", "x" * 129, ".x", "-x", "x/y", '"x y"', '""', r'"x\n"', r'"a\0"']


def test_f43_ids_that_are_no_file_names_are_refused(runs: Warm, folder: Path) -> None:
    for number, id in enumerate(IDS):
        (folder / f"baselines/{number}.yaml").write_text(FINE.replace("id: x", f"id: {id}"))
    ended = spoken(runs.run(folder, "compare"))
    assert ended.exit_code == 2
    assert re.findall(r"^BK108 baselines/(\d).yaml:1:5: ", ended.err, re.MULTILINE) == [*"012345678"]


NAMES = [
    *("a\nBK000 b.yaml", "a\n::error::b.yaml", "a\x1b[31mb.yaml", "a\u202eb.yaml", "-rf.yaml", "--json.yaml"),
    *(" a .yaml", "é.yaml", "a\\b.yaml", '"a".yaml', "\udcff.yaml", "*.yaml", "$(id).yaml", "\r.yaml"),
]


def test_f59_files_of_any_name_are_compared_and_shown_harmlessly(runs: Warm, folder: Path) -> None:
    paths = [folder / "baselines" / name for name in NAMES]
    for number, path in enumerate(paths):
        path.write_text(FINE.replace("id: x", f"id: x{number}") + "surplus: 1\n")
    looked = spoken(runs.run(folder, "doctor"))
    assert looked.exit_code == 2
    assert len(re.findall("^BK103 baselines/.*:4:1: unknown key 'surplus'", looked.out, re.M)) == len(NAMES)
    with Steady({"n": 2}) as service:
        for number, path in enumerate(paths):
            path.write_text(FINE.replace("id: x", f"id: x{number}") + "metadata: {failure_count: 0}\n")
        ended = spoken(runs.run(folder, "compare", "--base-url", service.url))
    assert ended.exit_code == 1, ended.said
    assert all(path.read_text().endswith("metadata: {failure_count: 1}\n") for path in paths)
    for output in (looked.said, ended.said):
        assert not re.search("\x1b|\u202e", output)
        assert not re.search(r"^(BK000|::)", output, re.MULTILINE), output


def test_compare_of_files_in_the_git_folder_is_refused(runs: Warm, folder: Path) -> None:
    (folder / ".git").mkdir()
    (folder / ".git/a.yaml").write_text(FINE)
    for word in (".git", ".git/a.yaml"):
        ended = spoken(runs.run(folder, "compare", word))
        assert (ended.exit_code, ended.err[:5]) == (4, "BK404"), ended.said
