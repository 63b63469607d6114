"""What a good answer is, as our own cases say it, and inputs that are conversations."""

from pathlib import Path

import pytest
from storehelp import write

from baselinekit.errors import InvalidInput
from baselinekit.model.evals import Case, GoodAnswer
from baselinekit.model.traces import TraceMessage
from baselinekit.suites.loading import load_cases

MESSAGES = '[{role: system, content: Be kind.}, {role: user, content: "Why {{x}}?"}]'
CASE = f"""\
id: a
input: {{type: messages, content: {MESSAGES}}}
expected_outcome: Says why.
reference: Because.
sidecar: {{language: en}}
conversation_id: c1
grader: {{type: code, config: {{method: contains, all: [ecause]}}}}
"""


def loaded(root: Path, text: str) -> Case:
    write(root, "evals/a.yaml", text)
    (case,) = load_cases(["evals/a.yaml"], str(root))
    return case


def test_a_case_says_what_a_good_answer_is(tmp_path: Path) -> None:
    case = loaded(tmp_path, CASE)
    system, user = TraceMessage("system", "Be kind."), TraceMessage("user", "Why {{x}}?")
    wanted = GoodAnswer(
        "Says why.", (TraceMessage("assistant", "Because."),), (system, user), {"language": "en"}, "c1"
    )
    assert case.wanted == wanted
    assert case.expected is None
    asked = [(one.role, one.content) for one in case.recipe.input.messages]
    assert asked == [("system", "Be kind."), ("user", "Why \\{{x}}?")]  # a message stands for itself


def test_a_message_may_name_a_file_beside_the_case(tmp_path: Path) -> None:
    write(tmp_path, "evals/notes.md", "Notes.\r\n")
    parts = "[{type: text, value: Read}, {type: file, value: ./notes.md}]"
    case = loaded(tmp_path, CASE.replace('"Why {{x}}?"', parts))
    assert "Notes.\n" in case.recipe.input.messages[1].content
    assert case.wanted.input_files == (str(tmp_path / "evals" / "notes.md"),)


MISTAKEN = """\
id: a
input: {type: messages, content: [{role: sytem, content: [{type: file, value: gone.md}]}]}
expected_outcome: 3
reference: [{role: asistant, content: x}]
sidecar: en
grader: {type: code, config: {method: contains, all: [ecause]}}
"""


def test_every_mistake_of_a_conversation_is_reported(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as caught:
        loaded(tmp_path, MISTAKEN)
    places = [
        f"{problem.code} {str(problem.place).removeprefix('evals/a.yaml:')}"
        for problem in caught.value.problems
    ]
    assert places == ["BK105 2:42", "BK782 2:79", "BK105 3:19", "BK105 5:10"]
