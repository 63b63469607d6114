"""How the error of a program that did not finish names the program."""

import pytest

from baselinekit.commands.programs import run_in_name
from baselinekit.errors import CannotReplay, NeverSent, cannot_replay
from baselinekit.model.recipes import ProcessResult, ProcessSpec

RUN = ProcessSpec(("sh", "verify.sh"))


@pytest.mark.parametrize(
    ("error", "message"), [(cannot_replay("BK321", "no pipe"), "verify.sh: no pipe"), (NeverSent(), "")]
)
def test_run_in_name_names_the_program_that_ran(error: CannotReplay, message: str) -> None:
    def execute(_: ProcessSpec) -> ProcessResult:
        raise error

    with pytest.raises(CannotReplay) as caught:
        run_in_name("verify.sh", RUN, execute)
    assert [problem.message for problem in caught.value.problems] == [message] * bool(message)
    assert type(caught.value) is type(error)
