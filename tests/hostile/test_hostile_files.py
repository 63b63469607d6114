"""Files that somebody made to hurt: each is an error with its place, soon, and in little memory."""

import os
import re
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from steady import Steady
from warm import Ended, Warm, warm

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


@pytest.fixture(scope="module")
def runs() -> Iterator[Warm]:
    with warm() as server:
        yield server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "baselines").mkdir(parents=True)
    (root / "baselinekit.yaml").write_text("base_url: http://127.0.0.1:9\n")
    return root


def holding(output: str | bytes) -> bytes:
    return RECORD.encode().replace(b"OUTPUT", output if isinstance(output, bytes) else output.encode())


def spoken(ended: Ended) -> Ended:
    assert "Traceback" not in ended.said, ended.said
    assert "BK399" not in ended.said, ended.said
    assert ended.exit_code >= 0, ended
    assert ended.seconds < LONGEST + 1, ended
    assert ended.cpu < LONGEST, ended
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
    r"BK225 FILE: … and 2,980 more problems in this file: [^\n]*\n3,000 problems\n"
)
HOSTILE: dict[str, list[tuple[str, str | bytes, str]]] = {
    "f23_nesting": [
        ("a.yaml", "[" * MANY, r"BK101 FILE:1:1001: .* nesting depth"),
        ("a.yaml", "- " * MANY, r"BK106 FILE:1:129: nested more than 64"),
        ("a.yaml", "{" * MANY, r"BK101 FILE:1:1001: .* nesting depth"),
        ("a.yaml", "? " * MANY, r"BK107 FILE:1:3: a key of type object"),
        ("a.yaml", "{a: " * MANY, r"BK106 FILE:1:257: nested more than 64"),
        ("a.yaml", "".join(" " * i + "a:\n" for i in range(1_000)), r"BK106 FILE:65:65: nested"),
        ("a.yaml", holding("[" * MANY + "]" * MANY), r"BK101 FILE:2:1018: .* nesting depth"),
        ("a.json", "[" * MANY, r"BK106 FILE:1:65: nested"),
        ("a.json", '{"a":' * MANY, r"BK106 FILE:1:321: nested"),
    ],
    "f24_aliases": [
        ("a.yaml", LAUGH, r"BK106 FILE:6:11: more than 200,000 values"),
        ("a.yaml", "a: &a {x: 1}\nb: {<<: [*a, *a]}\n", r"BK107 FILE:2:5: the key << is a YAML merge"),
        ("a.yaml", holding(TAKES_ALIASES), r"BK106 FILE:2:1\d{6}: more than 200,000 values"),
        ("a.yaml", "&a [*a]\n", r"BK101 FILE:1:5: the alias \*a is undefined"),
        ("a.yaml", holding("[" + "1," * 300_000 + "]"), r"BK106 FILE:2:600\d+: more than 200,000 values"),
    ],
    "f25_broken": [
        ("a.yaml", b"id: \0\n", r"BK101 FILE:1:5: not valid YAML: control characters"),
        ("a.yaml", bytes(range(256)), r"BK101 FILE:2:118: byte 0x80 is not UTF-8"),
        ("a.yaml", "id: x\n".encode("utf-16"), r"BK101 FILE:1:1: byte 0xff is not UTF-8"),
        ("a.yaml", "id: x\n".encode("utf-16-le"), r"BK101 FILE:1:2: not valid YAML: control"),
        ("a.yaml", "id: x\n".encode("utf-32"), r"BK101 FILE:1:1: byte 0xff is not UTF-8"),
        ("a.yaml", b"id: \xe9\n", r"BK101 FILE:1:5: byte 0xe9 is not UTF-8"),
        ("a.yaml", b"", r"BK110 FILE:1:1: not a baseline: the file is empty"),
        ("a.json", b"", r"BK101 FILE:1:1: not valid JSON"),
        ("a.yaml", "id: !!python/object/apply:os.system [id]\n", r"BK107 FILE:1:5: the tag !!python/object"),
        ("a.yaml", holding("!!set {a, b}"), r"BK107 FILE:2:20: the tag !!set is not supported"),
        ("a.yaml", holding("!!binary aGk="), r"BK107 FILE:2:20: the tag !!binary is not supported"),
        ("a.yaml", "%TAG ! tag:evil,2000:\n---\nid: !x y\n", r"BK107 FILE:3:5: the tag tag:evil,2000:x"),
        ("a.yaml", "%YAML 9.9\n---\nid: x\n", r"BK101 FILE:1:1: not valid YAML"),
        ("a.yaml", holding("1" * 5_000), r"BK106 FILE:2:20: a number of more than 1,000 digits"),
        ("a.json", '{"id": ' + "1" * 5_000 + "}", r"BK106 FILE:1:8: a number of more than 1,000 digits"),
        ("a.yaml", holding("1e999999999"), r"BK106 FILE:2:20: a number of more than 1,000 digits"),
        ("a.yaml", holding("{1: a, null: b}"), r"BK107 FILE:2:21: the key 1 is a number"),
        ("a.yaml", "#" * 20_000_001, r"BK106 FILE: larger than 20,000,000 bytes"),
        ("a.yaml", "--- {}\n" * MANY, r"BK110 FILE:1:5: not a baseline"),
        ("a.json", '{"id": NaN}', r"BK106 FILE:1:8: NaN, which is not a JSON value"),
        ("a.yaml", RECORDS, MANY_PROBLEMS),
        ("a.yaml", holding("{status: 200, body: '" + r"<<regex(\'" * 9_000 + "'}"), r"BK\d+ FILE:"),
        ("a.yaml", holding("'" + "\\" * 500_000 + "<<any>>'"), r"BK225 FILE:2:20"),
    ],
    "f27_twice": [
        ("a.yaml", holding("1" + ":59" * 200_000), r"BK225 FILE:2:20: .* not string"),
        ("a.yaml", "<<<<<<< A\nid: x\n=======\nid: y\n>>>>>>> b\n", r"BK101 FILE:1:1: an unresolved git"),
        ("a.yaml", "id: x\nid: y\n", r"BK102 FILE:2:1: the key 'id' occurs twice: remove one of the two"),
        ("a.json", '{"id": 1,\n"id": 2}', r"BK102 FILE:2:1: the key 'id' occurs twice"),
    ],
}


Case = tuple[str, str | bytes, str]


def each(kind: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", HOSTILE[kind])


def check(runs: Warm, folder: Path, case: Case) -> None:
    name, data, message = case
    path = folder / "baselines" / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    ended = spoken(runs.run(folder, "doctor"))
    assert ended.exit_code == 2
    assert re.match(message.replace("FILE", re.escape(f"baselines/{name}")), ended.out), ended.out[:500]


@each("f23_nesting")
def test_f23_a_file_nested_without_end(runs: Warm, folder: Path, case: Case) -> None:
    check(runs, folder, case)


@each("f24_aliases")
def test_f24_a_file_that_grows_when_it_is_read(runs: Warm, folder: Path, case: Case) -> None:
    check(runs, folder, case)


@each("f25_broken")
def test_f25_a_file_that_is_broken_in_any_way(runs: Warm, folder: Path, case: Case) -> None:
    check(runs, folder, case)


@each("f27_twice")
def test_f27_a_file_that_a_merge_left(runs: Warm, folder: Path, case: Case) -> None:
    check(runs, folder, case)


SURPRISES = {"a": "no", "b": "on", "c": "12:30:45", "d": "1_000", "e": "2024-01-15T10:30:00Z", "f": "0b1"}
NUMBERS = "g: 014, h: 0o17, i: 0x1F, j: 1e3, k: ~, l: TRUE"


@pytest.mark.slow
def test_f26_what_yaml_1_1_would_take_for_something_else_is_what_it_says(runs: Warm, folder: Path) -> None:
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


@pytest.mark.parametrize("text", [FINE.replace("\n", "\r"), FINE.replace("\n", "\r\n"), "\ufeff" + FINE])
def test_an_odd_but_good_file_is_read_and_recorded(runs: Warm, folder: Path, text: str) -> None:
    with Steady({"n": 1}) as service:
        (folder / "baselinekit.yaml").write_text(f"base_url: {service.url}\n")
        path = folder / "baselines/a.yaml"
        path.write_bytes(text.encode())
        assert spoken(runs.run(folder, "compare")).exit_code == 0
    after = path.read_bytes().decode()
    assert after.startswith(text.rstrip("\r\n"))
    assert re.fullmatch(
        r"[\r\n]*metadata:[\r\n]+  last_passed: .*Z\W+failure_count: 0[\r\n]+", after[len(text) :]
    )


Layer = Callable[[Path, Path], object]


def make_socket(path: Path, outside: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        before = os.getcwd()
        os.chdir(path.parent)  # its name would be too long
        try:
            one.bind(path.name)
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


@pytest.mark.slow
@pytest.mark.parametrize("named", [False, True], ids=["found", "named"])
@pytest.mark.parametrize("kind", ODD)
def test_f42_what_is_no_regular_file_of_the_project_is_not_read(
    runs: Warm, folder: Path, tmp_path: Path, kind: str, named: bool
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.yaml").write_text("hunter2: 1\n")
    make, code = ODD[kind]
    make(folder / "baselines/odd.yaml", outside)
    words = ["baselines/odd.yaml"] if named else []
    assert spoken(runs.run(folder, "compare", *words)).exit_code == (4 if code == "BK404" else 2)
    looked = spoken(runs.run(folder, "doctor", *words))
    assert looked.exit_code == 2
    assert looked.out.startswith(f"{code} baselines/odd.yaml"), looked.out
    assert "hunter2" not in looked.said
    assert (outside / "secret.yaml").read_text() == "hunter2: 1\n"


def test_f42_a_link_to_a_folder_outside_leads_nowhere(runs: Warm, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/a.yaml").write_text("hunter2: 1\n")
    (folder / "baselines/link").symlink_to(tmp_path / "outside")
    assert spoken(runs.run(folder, "compare")).exit_code == 5
    named = spoken(runs.run(folder, "compare", "baselines/link"))
    assert (named.exit_code, "hunter2" in named.said) == (4, False)
    assert named.err.startswith("BK404 baselines/link/a.yaml leads out of the project")


OUTSIDE = """../../outside/secret.txt x/../../../outside/secret.txt /etc/passwd ../../project-evil/secret.txt
../.git/config .git/config link.txt link/secret.txt /dev/zero"""
OUTPUTS = [(name, "BK404", 4) for name in OUTSIDE.split()]
OUTPUTS += [(name, "BK111", 2) for name in ("pipe.txt", ".", '""', r'"a\0b"', "missing.json")]
OUTPUTS += [("large.txt", "BK106", 2)]


@pytest.mark.parametrize(("name", "code", "exit_code"), OUTPUTS, ids=[name for name, _, _ in OUTPUTS])
def test_f41_an_output_file_stays_inside_the_project(
    runs: Warm, folder: Path, tmp_path: Path, name: str, code: str, exit_code: int
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
    record = RECORD.replace("output: OUTPUT", f"output_file: {name}")
    (folder / "baselines/a.yaml").write_text(record)
    ended = spoken(runs.run(folder, "compare"))
    assert ended.exit_code == exit_code, ended.said
    assert ended.err.startswith(f"{code} baselines/a.yaml:2:25: "), ended.err
    assert "hunter2" not in ended.said
    assert "root:" not in ended.said


@pytest.mark.parametrize(
    "name",
    ["baselines: ../outside", "baselines: /etc", "baselines: .git", "evals: ../outside", "evals: .git"],
)
def test_f41_the_folders_of_baselines_and_evals_stay_inside_the_project(
    runs: Warm, folder: Path, tmp_path: Path, name: str
) -> None:
    (tmp_path / "outside").mkdir()
    (folder / ".git").mkdir()
    (folder / "baselinekit.yaml").write_text(name + "\n")
    for words in (["compare"], ["capture", "http", "GET", "http://127.0.0.1:9/n"]):
        ended = spoken(runs.run(folder, *words))
        assert (ended.exit_code, ended.err[:5]) == (4, "BK404"), ended.said


@pytest.mark.parametrize(
    "id", ["../../.git/hooks/pre-commit", "x" * 129, ".x", "-x", "x/y", '"x y"', '""', r'"x\n"', r'"a\0"']
)
def test_f43_an_id_is_no_path(runs: Warm, folder: Path, id: str) -> None:
    (folder / "baselines/a.yaml").write_text(FINE.replace("id: x", f"id: {id}"))
    ended = spoken(runs.run(folder, "compare"))
    assert ended.exit_code == 2
    assert ended.err.startswith("BK108 baselines/a.yaml:1:5: "), ended.err


def test_f43_ids_that_one_file_system_takes_for_one_are_refused(runs: Warm, folder: Path) -> None:
    (folder / "baselines/a.yaml").write_text(FINE.replace("id: x", "id: Orders"))
    (folder / "baselines/b.yaml").write_text(FINE.replace("id: x", "id: orders"))
    ended = spoken(runs.run(folder, "compare"))
    assert ended.exit_code == 2
    assert "BK109 baselines/b.yaml:1:5: the id 'orders' is 'Orders' in different case" in ended.err
    taken = spoken(runs.run(folder, "capture", "http", "GET", "http://127.0.0.1:9/", "--id", "ORDERS"))
    assert (taken.exit_code, taken.err[:5]) == (2, "BK113"), taken.said


NAMES = [
    *("a\nBK000 b.yaml", "a\n::error::b.yaml", "a\x1b[31mb.yaml", "a\u202eb.yaml", "-rf.yaml", "--json.yaml"),
    *(" a .yaml", "é.yaml", "a\\b.yaml", '"a".yaml', "\udcff.yaml", "*.yaml", "$(id).yaml", "\r.yaml"),
]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_f59_a_file_of_any_name_is_compared_and_shown_harmlessly(runs: Warm, folder: Path, name: str) -> None:
    path = folder / "baselines" / name
    path.write_text(FINE + "surplus: 1\n")
    looked = spoken(runs.run(folder, "doctor"))
    assert looked.exit_code == 2
    assert looked.out.splitlines()[0].startswith("BK103 baselines/"), looked.out
    assert ":4:1: unknown key 'surplus'" in looked.out.splitlines()[0]
    with Steady({"n": 2}) as service:
        path.write_text(FINE + "metadata: {failure_count: 0}\n")
        ended = spoken(runs.run(folder, "compare", "--base-url", service.url))
    assert ended.exit_code == 1, ended.said
    assert path.read_text().endswith("metadata: {failure_count: 1}\n")
    for said in (looked.said, ended.said):
        assert "\x1b" not in said
        assert "\u202e" not in said
        assert not re.search(r"^(BK000|::)", said, re.MULTILINE), said


def test_what_is_in_git_is_not_read(runs: Warm, folder: Path) -> None:
    (folder / ".git").mkdir()
    (folder / ".git/a.yaml").write_text(FINE)
    for word in (".git", ".git/a.yaml"):
        ended = spoken(runs.run(folder, "compare", word))
        assert (ended.exit_code, ended.err[:5]) == (4, "BK404"), ended.said
