"""One baseline, and another known-good output where something else is right."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from console import Console, console
from little_api import LittleApi

CONFIG = """\
environments: {staging: {variables: {x: 1}}, other: {variables: {x: 2}}}
environment: {flavour: plain}
"""


@pytest.fixture
def api() -> Iterator[LittleApi]:
    with LittleApi({"/x": {"n": 2}}) as api:
        yield api


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Console]:
    with console(tmp_path / "project") as here:
        (here.folder / "baselinekit.yaml").write_text(CONFIG)
        (here.folder / "baselines").mkdir()
        yield here


def lay(here: Console, baseline: str) -> None:
    (here.folder / "baselines/x.yaml").write_text(
        f"id: x\nbaseline:\n{baseline}"
        "current: {input: {endpoint: /x}, execution: {type: http}}\n"
        "metadata: {last_passed: null, failure_count: 0}\n"
    )


def variant(when: str, number: int, key: str = "output") -> str:
    value = f"{{body: {{n: {number}}}}}" if key == "output" else number
    return f"  - when: {when}\n    {key}: {value}\n"


OWN = "  output: {body: {n: 1}}\n  variants:\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("baseline", "words", "code", "said"),
    [
        (OWN + variant("{environment: staging}", 2), "--environment staging", 0, "1 passed"),
        (OWN + variant("{environment: staging}", 2), "--environment other", 1, "1 failed"),
        (OWN + variant("{environment: '*'}", 2), "--environment other", 0, "1 passed"),
        (OWN + variant("{environment: [other, staging]}", 2), "--environment other", 0, "1 passed"),
        (OWN + variant("{flavour: plain}", 2), "", 0, "1 passed"),
        (OWN + variant("{flavour: plain, environment: staging}", 2), "", 1, "1 failed"),
        (OWN + variant("{flavour: other}", 3) + variant("{flavour: p*}", 2), "", 0, "1 passed"),
        (OWN + variant("{flavour: plain}", 2) + variant("{flavour: p*}", 3), "", 0, "1 passed"),
        ("  variants:\n" + variant("{flavour: plain}", 2), "", 0, "1 passed"),
        (
            "  variants:\n" + variant("{environment: staging}", 2),
            "",
            3,
            "none of its variants fits here (environment: none)",
        ),
        (OWN + variant("{flavor: plain}", 2), "", 2, "x.yaml:5:20: the 'flavor' of a run is not known"),
        (OWN + variant("{environment: stagin}", 2), "", 2, "did you mean 'staging'?"),
        (OWN + variant("{}", 2), "", 2, "say where it applies"),
        (OWN + "  - when: {flavour: plain}\n", "", 2, "a variant has no output"),
    ],
)
def test_the_output_that_is_meant_for_here(
    here: Console, api: LittleApi, baseline: str, words: str, code: int, said: str
) -> None:
    lay(here, baseline)
    run = here.run(f"baselinekit compare --base-url {api.url} {words}")
    assert said in run.stdout + run.stderr
    assert run.exit_code == code


def test_a_variant_may_be_in_a_file_beside(here: Console, api: LittleApi) -> None:
    lay(here, OWN + "  - when: {flavour: plain}\n    output_file: x.plain.output.json\n")
    (here.folder / "baselines/x.plain.output.json").write_text('{\n  "body": {\n    "n": 3\n  }\n}\n')
    run = here.run(f"baselinekit compare --base-url {api.url}")
    assert "baselines/x.plain.output.json:3" in run.stdout
    (here.folder / "baselines/x.plain.output.json").write_text('{"body": {"n": 2}}\n')
    assert here.run(f"baselinekit compare --base-url {api.url}").exit_code == 0
    (here.folder / "baselines/x.plain.output.json").unlink()
    run = here.run(f"baselinekit compare --base-url {api.url}")
    assert "baselines/x.yaml:6:" in run.stderr
    assert run.exit_code == 2


def test_doctor_checks_the_variants_of_other_places_too(here: Console) -> None:
    lay(here, OWN + "  - when: {environment: other}\n    output: {body: {n: <<any_numbr>>}}\n")
    run = here.run("baselinekit doctor")
    assert "baselines/x.yaml:6:" in run.stdout + run.stderr
    assert "any_number" in run.stdout + run.stderr
    assert run.exit_code == 2
