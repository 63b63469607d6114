"""What `convert --from pytest` takes from the tests of a user: run with syrupy, inline-snapshot and
pytest-regressions as they are."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from textwrap import dedent
from typing import Any
from uuid import UUID

import dirty_equals as dirty
import pytest
import yaml
from console import Console, console
from moving.test_vcr import MADE
from snapshotvalues import VALUES
from storehelp import write
from syrupy.extensions.amber import AmberSnapshotExtension
from syrupy.filters import paths, props
from syrupy.matchers import path_type

from baselinekit.library.values import NoJsonError
from baselinekit.pytest_plugin.taking import SyrupyOptions, is_matcher, placeholder_of


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Console]:
    with console(tmp_path / "project") as terminal:
        (terminal.folder / "baselinekit.yaml").write_text("version: 1\n")
        (terminal.folder / "pytest.ini").write_text("[pytest]\naddopts = -q -p no:cacheprovider\n")
        yield terminal


def write_test(terminal: Console, name: str, code: str) -> Path:
    file = terminal.folder / "tests" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(dedent(code))
    return file


def convert(terminal: Console, words: str) -> dict[str, Any]:
    ran = terminal.run(f"baselinekit convert {words} --from pytest --json")
    assert ran.stdout, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def run_pytest(folder: Path, *words: str) -> str:
    command = [sys.executable, "-m", "pytest", *words, "tests"]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100, check=False)
    return ran.stdout


NOT_TAKEN = """
    import pytest
    from inline_snapshot import snapshot

    attempts = []

    def test_failed():
        assert 1 == snapshot(2)

    def test_compared_and_failed():
        assert 1 == snapshot(1)
        assert False

    @pytest.mark.xfail
    def test_expected_to_fail():
        assert 1 == snapshot(2)

    @pytest.mark.skip
    def test_skipped(data_regression):
        data_regression.check({})

    def test_new(data_regression):
        data_regression.check({"a": 1})

    def test_without_a_value():
        assert 1 == snapshot()

    @pytest.mark.flaky(reruns=1)
    def test_passes_again():
        attempts.append(1)
        assert 2 == snapshot(2)
        assert len(attempts) == 2

    def test_in_a_loop():
        for number in (1, 1, 1):
            assert number == snapshot(1)

    def test_several_values_of_one_snapshot():
        for number in range(2):
            assert number == snapshot(number)

    def test_not_compared():
        assert 1 != snapshot(2)
        assert snapshot({"a": 1})["a"] == 1
        assert 1 in snapshot([1])
        assert "A" == snapshot("a").upper()

    def test_not_json():
        assert {"a": [{1j}]} == snapshot({"a": [{1j}]})

    def test_too_many_digits():
        assert 10**5000 == snapshot(10**5000)

    EXPECTED = snapshot("outside of the test")

    def test_outside():
        assert "outside of the test" == EXPECTED
"""


def test_convert_lists_each_value_that_it_does_not_take(terminal: Console) -> None:
    write_test(terminal, "test_x.py", NOT_TAKEN)
    found = convert(terminal, "tests --partial")
    assert [name.rpartition("/")[2] for name in found["written"]] == [
        "test_in_a_loop.yaml",
        "test_several_values_of_one_snapshot.yaml",
        "test_outside.yaml",
    ]
    lost = [item["what"] for item in found["lost"]]
    not_passed = "it did not pass, so that its values are not known to be good"
    otherwise = "a snapshot(…) is used otherwise than by `==`: compare the value itself"
    assert [what for what in lost if what.endswith(not_passed)] == [
        f"{name}: {not_passed}"
        for name in (
            "test_failed",
            "test_compared_and_failed",
            "test_expected_to_fail",
            "test_skipped",
            "test_new",
            "test_passes_again",
        )
    ]
    others = [what for what in lost if not what.endswith(not_passed)]
    assert [what for what in others if what.endswith(otherwise)] == [
        f"test_not_compared{number}: {otherwise}" for number in ("", " 2", " 3", " 4")
    ]
    for what in ("a second value for", "test_not_json: a[0]", "test_too_many_digits: "):
        assert [line for line in others if what in line], what


def test_convert_takes_nothing_that_an_update_option_accepts(terminal: Console) -> None:
    """Neither are the snapshots of the user written."""
    (terminal.folder / "pytest.ini").write_text(
        "[pytest]\naddopts = -q -n 2 --snapshot-update --regen-all --inline-snapshot=disable\n"
    )
    code = """
        from inline_snapshot import snapshot

        def test_syrupy(snapshot):
            assert 1 == snapshot

        def test_inline():
            assert 1 == snapshot(2)

        def test_regression(data_regression):
            data_regression.check({"a": 2})
    """
    file = write_test(terminal, "test_x.py", code)
    stored = file.parent / "test_x" / "test_regression.yml"
    stored.parent.mkdir()
    stored.write_text("a: 1\n")
    found = convert(terminal, "tests --partial")
    assert (found["written"], len(found["lost"])) == ([], 3)
    assert (file.read_text(), stored.read_text()) == (dedent(code), "a: 1\n")
    assert not (file.parent / "__snapshots__").exists()


TAKEN = 42
SUITE = """
    import pytest
    from snapshotvalues import VALUES

    @pytest.mark.parametrize("number", range(len(VALUES)))
    def test_value(number, {fixture}):
        {line}
"""


@pytest.mark.slow
def test_convert_stores_values_that_pass_with_baseline_in_place_of_snapshots(terminal: Console) -> None:
    """syrupy takes values of all these types, and pytest-regressions fewer."""
    tests = terminal.folder / "tests"
    suites = {
        "amber": SUITE.format(fixture="snapshot", line="assert VALUES[number] == snapshot"),
        "regression": SUITE.format(fixture="data_regression", line="data_regression.check(VALUES[number])"),
        "inline": """
            from inline_snapshot import snapshot
            from snapshotvalues import VALUES

            def test_values():
                assert VALUES[:20] == snapshot(VALUES[:20])
        """,
    }
    for name, code in suites.items():
        write_test(terminal, f"test_{name}.py", code)
    shutil.copy(Path(__file__).parent / "snapshotvalues.py", tests)
    run_pytest(terminal.folder, "--snapshot-update", "--regen-all")
    found = convert(terminal, "tests --partial")
    assert len(found["written"]) == len(VALUES) + TAKEN + 1
    for name in suites:
        write_test(terminal, f"test_{name}.py", SUITE.format(fixture="baseline", line="assert True"))
    baseline = SUITE.format(fixture="baseline", line="assert VALUES[number] == baseline")
    write_test(terminal, "test_amber.py", baseline)
    write_test(terminal, "test_regression.py", baseline)
    inline = (
        "from snapshotvalues import VALUES\ndef test_values(baseline):\n    assert VALUES[:20] == baseline\n"
    )
    write_test(terminal, "test_inline.py", inline)
    assert f"{2 * len(VALUES) + 1} passed" in run_pytest(terminal.folder)


MATCHERS = [
    (dirty.IsUUID(4), "<<any_uuid(4)>>"),
    (dirty.IsInt(gt=0, le=9), "<<any_integer(1, 9)>>"),
    (dirty.IsApprox(2, delta=1), "<<number(2 ± 1)>>"),
    (dirty.IsStr(regex="it's [0-9]+"), "<<regex('it''s [0-9]+')>>"),
    (dirty.IsStr(min_length=3), "<<any_string(3)>>"),
    (dirty.IsDatetime(iso_string=True), "<<any_iso_datetime>>"),
    (dirty.IsNow(iso_string=True), "<<any_iso_datetime('5m')>>"),
    (dirty.IsToday(iso_string=True), "<<any_iso_date>>"),
    (dirty.IsUUID, "<<any_uuid>>"),
    (dirty.IsNegative, None),
    (dirty.IsNow(unix_number=True), None),
    (dirty.IsStr(regex="a", min_length=2), None),
    (dirty.IsStr() | dirty.IsInt(), None),
    (~dirty.IsStr(), None),
    (dirty.IsList(1, 2), None),
    (dirty.IsUrl, "<<any_url>>"),
    (dirty.IsUrl(host="x.test"), None),
]


@pytest.mark.parametrize(("matcher", "text"), MATCHERS, ids=range(len(MATCHERS)))
def test_placeholder_of_a_matcher_of_dirty_equals_is_the_same_condition(
    matcher: Any, text: str | None
) -> None:
    assert is_matcher(matcher)
    found = placeholder_of(matcher)
    assert (found and found.text) == text
    assert not any(map(is_matcher, (1, "ANY", {"a": 1}, Decimal(1), int)))


def compared(value: Any, **options: Any) -> tuple[Any, Any, Any]:
    """What SyrupyOptions makes of a value that syrupy serialized with these options."""
    noting = SyrupyOptions(options.get("matcher"), options.get("include"), options.get("exclude"))
    AmberSnapshotExtension().serialize(value, matcher=noting.matcher, exclude=noting.exclude)
    found = noting.comparison(value)
    return found.output, dict(found.placeholders), found.rules


ID = UUID(int=1)


def test_syrupy_matcher_becomes_a_placeholder_by_the_class_of_the_value() -> None:
    kinds = path_type({"id": (UUID,), "rows.0.n": (int,), "rows.0.on": (bool,), "name": (str,)})
    value = {"id": ID, "rows": [{"n": 7, "on": True}], "name": "Ada", "kept": 1}
    _, placeholders, rules = compared(value, matcher=kinds)
    assert placeholders == {
        ("id",): "<<any_uuid>>",
        ("rows", 0, "n"): "<<any_integer>>",
        ("rows", 0, "on"): "<<any_boolean>>",
        ("name",): "<<any_string>>",
    }
    assert rules == {}


def test_syrupy_matcher_that_changes_a_value_is_not_taken() -> None:
    def rounded(*, data: Any, path: Any) -> Any:
        return round(data) if isinstance(data, float) else data

    with pytest.raises(NoJsonError, match=r"^x is changed by a matcher"):
        compared({"x": 1.5}, matcher=rounded)


def test_syrupy_filters_become_ignored_fields() -> None:
    value = {"id": 1, "rows": [{"id": 2, "n": 1}, {"id": 3, "n": 2}], "name": "Ada"}
    without = {"rows": [{"n": 1}, {"n": 2}], "name": "Ada"}
    assert compared(value, exclude=props("id")) == (without, {}, {"ignore_fields": ["id", "rows.*.id"]})
    one_row = {"id": 1, "rows": [{"id": 2, "n": 1}, {"n": 2}], "name": "Ada"}
    assert compared(value, exclude=paths("rows.1.id")) == (one_row, {}, {"ignore_fields": ["rows[1].id"]})
    assert compared(value, include=props("name"))[:1] == ({"name": "Ada"},)


def test_convert_keeps_secrets_placeholder_texts_and_large_values_apart(terminal: Console) -> None:
    """A declared secret is never written, a text that looks like a placeholder stays a text, and a large
    value is stored beside its baseline. A capture without an address has nothing to do with any of them."""
    code = """
        from inline_snapshot import snapshot

        def test_secret():
            assert "a correct-horse" == snapshot("a correct-horse")

        def test_text():
            assert "<<any_uuid>>" == snapshot("<<any_uuid>>")

        def test_large():
            assert "x" * 100_000 == snapshot("x" * 100_000)
    """
    write_test(terminal, "test_x.py", code)
    (terminal.folder.parent / "outside").mkdir()
    refused = terminal.run(f"baselinekit convert {terminal.folder.parent}/outside --from pytest")
    assert (refused.exit_code, "BK404" in refused.stderr) == (4, True)
    secret = "--secret PASSWORD=correct-horse"
    ran = terminal.run(f"baselinekit convert tests --from pytest {secret}")
    assert ran.exit_code == 0, ran.stderr
    folder = terminal.folder / "baselines/tests/test_x"
    stored = {
        name: yaml.safe_load((folder / f"test_{name}.yaml").read_text("utf-8"))["baseline"]
        for name in ("secret", "text", "large")
    }
    assert stored["secret"]["output"] == "a <<var(PASSWORD)>>"
    assert stored["text"]["output"] == "\\<<any_uuid>>"
    assert (folder / str(stored["large"]["output_file"])).read_text() == "x" * 100_000
    write(terminal.folder, "urls.txt", "https://shop.test/orders\n")
    ran = terminal.run(f"baselinekit capture urls.txt --dry-run {secret}")
    assert (ran.exit_code, ran.stderr) == (0, "")


def convert_cassettes(terminal: Console, folder: str) -> dict[str, Any]:
    ran = terminal.run(f"baselinekit convert --from vcr {folder} --partial --json")
    assert ran.stdout, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def test_convert_of_cassettes_stores_answers_without_secrets(terminal: Console) -> None:
    shutil.copytree(MADE / "cassettes", terminal.folder / "cassettes")
    found = convert_cassettes(terminal, "cassettes")
    assert (len(found["written"]), len(found["lost"])) == (19, 4)
    folder = terminal.folder / "baselines"
    assert yaml.safe_load((folder / "127.0.0.1/get-missing.yaml").read_text())["baseline"]["output"] == {
        "status": 404,
        "headers": {"content-type": "application/json"},
        "body": {"error": "no such thing"},
    }
    everything = "".join(file.read_text() for file in folder.rglob("*.yaml"))
    assert [word for word in ("hunter2", "s3cr3t", "c2lnbmF0", "ABCD1234") if word in everything] == []
