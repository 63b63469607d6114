"""`variants:`, another stored output where something else is right."""

from pathlib import Path

import pytest
from desk import Desk
from storehelp import write

from baselinekit.commands.doctor import check_baselines
from baselinekit.errors import InvalidInput

CONFIG = """\
base_url: http://desk
environments: {staging: {variables: {x: 1}}, other: {variables: {x: 2}}}
environment: {flavour: plain}
"""
OWN = "  output: {body: {n: 1}}\n"
VARIANTS = "  variants:\n"


def variant(when: str, number: int = 2) -> str:
    return f"  - when: {when}\n    output: {{body: {{n: {number}}}}}\n"


def desk_with(folder: Path, baseline: str, environment: str | None = None) -> Desk:
    """The service answers 2."""
    desk = Desk(folder, config=CONFIG, operator={"environment": environment})
    current = "current: {input: {endpoint: /x}, execution: {type: http}}\n"
    write(folder, "baselines/x.yaml", f"id: x\nbaseline:\n{baseline}{current}")
    desk.says("x", {"n": 2})
    return desk


@pytest.mark.parametrize(
    ("variants", "environment", "outcome"),
    [
        (variant("{environment: staging}"), "staging", "passed"),
        (variant("{environment: staging}"), "other", "failed"),
        (variant("{environment: '*'}"), "other", "passed"),
        (variant("{environment: [other, staging]}"), "other", "passed"),
        (variant("{flavour: plain, environment: staging}"), None, "failed"),
        (variant("{flavour: other}", 3) + variant("{flavour: p*}"), None, "passed"),
        (variant("{flavour: plain}") + variant("{flavour: p*}", 3), None, "passed"),
    ],
)
def test_compare_uses_the_first_variant_that_fits(
    tmp_path: Path, variants: str, environment: str | None, outcome: str
) -> None:
    (result,) = desk_with(tmp_path, OWN + VARIANTS + variants, environment).compare().results
    assert result.outcome == outcome


def test_compare_where_no_variant_fits_is_unscored(tmp_path: Path) -> None:
    desk = desk_with(tmp_path, VARIANTS + variant("{environment: staging}"))
    (result,) = desk.compare().results
    assert result.outcome == "unscored"
    assert result.reason == "none of its variants fits here"


@pytest.mark.parametrize(
    ("variants", "message"),
    [
        (variant("{flavor: plain}"), "x.yaml:5:20: the 'flavor' of a run is not known"),
        (variant("{environment: stagin}"), "there is no environment 'stagin'"),
        (variant("{}"), "say where it applies"),
        ("  - when: {flavour: plain}\n", "a variant has no output"),
        ("  - when: {flavour: plain}\n    output_file: gone.output.json\n", r"BK111|BK101"),
    ],
)
def test_compare_refuses_a_variant_with_a_mistake(tmp_path: Path, variants: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        desk_with(tmp_path, OWN + VARIANTS + variants).compare()


def test_compare_reports_lines_of_a_variant_in_a_file_beside(tmp_path: Path) -> None:
    beside = "  - when: {flavour: plain}\n    output_file: x.plain.output.json\n"
    write(tmp_path, "baselines/x.plain.output.json", '{\n  "body": {\n    "n": 3\n  }\n}\n')
    (result,) = desk_with(tmp_path, OWN + VARIANTS + beside).compare().results
    (difference,) = result.differences
    assert (difference.file, difference.line) == ("baselines/x.plain.output.json", 3)


def test_doctor_checks_variants_of_other_environments(tmp_path: Path) -> None:
    other = "  - when: {environment: other}\n    output: {body: {n: <<any_numbr>>}}\n"
    desk = desk_with(tmp_path, OWN + VARIANTS + other)
    (problem,) = check_baselines(desk.project, [], desk.context().clients).problems
    assert str(problem).startswith("BK")
    assert "baselines/x.yaml:6:" in str(problem)
    assert "any_number" in str(problem)
