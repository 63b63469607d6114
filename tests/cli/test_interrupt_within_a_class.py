"""A signal that comes while Python makes a class is wrapped by it: it is an interrupt all the same."""

from pathlib import Path

import pytest

from baselinekit.cli.main import run
from baselinekit.errors import internal_error


@pytest.mark.parametrize(("cause", "code"), [(KeyboardInterrupt(), 130), (ValueError("x"), 3)])
def test_it_is_told_as_what_it_is(
    cause: BaseException, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def now() -> float:
        raise RuntimeError("Error calling __set_name__") from cause

    assert run(["compare", str(tmp_path)], now=now) == code
    assert ("interrupted" in capsys.readouterr().err) is (code == 130)


def test_it_is_no_fault_of_what_is_judged_at_that_moment() -> None:
    error = RuntimeError("Error calling __set_name__")
    error.__cause__ = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        internal_error(error)
    error.__cause__ = ValueError()
    assert internal_error(error).problems[0].code == "BK399"
