"""How the error of a program that did not finish names the program."""

import pytest

from baselinekit.commands.programs import run_in_name
from baselinekit.errors import CannotReplay, NeverSent, cannot_replay
from baselinekit.model.recipes import ProcessResult, ProcessSpec

RUN = ProcessSpec(("sh", "verify.sh"))


@pytest.mark.parametrize(
    ("name", "message", "expected"),
    [
        ("verify.sh", "sh did not end within 1 s", "verify.sh did not end within 1 s"),
        ("verify.sh", "the program 'sh' cannot be used", "verify.sh: the program 'sh' cannot be used"),
        ("verify.sh", "sh printed: sh is missing", "verify.sh printed: sh is missing"),
        ("verify.sh", "no pipe: sh did not end", "verify.sh: no pipe: sh did not end"),
        ("a: sh b.sh", "sh did not end", "a: sh b.sh did not end"),
        ("a: sh b.sh", "no pipe", "a: sh b.sh: no pipe"),
    ],
)
def test_error_names_program_only_at_its_beginning(name: str, message: str, expected: str) -> None:
    def execute(_: ProcessSpec) -> ProcessResult:
        raise cannot_replay("BK321", message, "a hint")

    with pytest.raises(CannotReplay) as caught:
        run_in_name(name, RUN, execute)
    (problem,) = caught.value.problems
    assert (problem.code, problem.message, problem.hint) == ("BK321", expected, "a hint")


def test_error_of_program_that_never_started_stays_as_it_is() -> None:
    error = NeverSent()

    def execute(_: ProcessSpec) -> ProcessResult:
        raise error

    with pytest.raises(NeverSent) as caught:
        run_in_name("verify.sh", RUN, execute)
    assert caught.value is error
