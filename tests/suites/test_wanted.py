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


WRONG = [
    ('"Why {{x}}?"', "[{type: file, value: gone.md}]", "2:113: there is no file 'gone.md'"),
    ("role: system", "role: sytem", "2:42: unknown role 'sytem' (string): did you mean 'system'?"),
    (MESSAGES, "3", "2:34: expected a list of messages, found 3"),
    ("Says why.", "3", "3:19: expected a string, found 3"),
    ("reference: Because.", "reference: [{role: asistant, content: x}]", "unknown role 'asistant'"),
    ("{language: en}", "en", "5:10: expected a mapping, found 'en'"),
]


@pytest.mark.parametrize(("old", "new", "line"), WRONG)
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, old: str, new: str, line: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        loaded(tmp_path, CASE.replace(old, new))
    assert line in str(caught.value)
