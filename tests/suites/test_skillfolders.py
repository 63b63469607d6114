"""A prompt folder as a skill folder, and folders that cannot be one."""

import re
from typing import Any

import pytest
from hypothesis import given, strategies as st

from baselinekit.errors import InvalidInput
from baselinekit.files.languages import YAML
from baselinekit.model.prompts import PromptFolder, PromptMeta, PromptVariable
from baselinekit.structs import replace
from baselinekit.suites.promptfolders import as_skill, described

META = PromptMeta(
    "refactor",
    title="Refactor one file",
    summary="Changes one file as the constraints say.",
    status="ready",
    description="Refactors one file and answers with a diff",
    triggers=("refactor a file", "remove global state."),
    not_for=("explaining code",),
    inputs={
        "constraints": PromptVariable(description="What must stay.", default="nothing"),
        "code": PromptVariable(),
    },
)
PATH = "prompts/refactor"
FOLDER = PromptFolder(PATH, META, f"{PATH}/meta.yml", f"{PATH}/prompt.xml")
TEMPLATE = "<prompt>\nRefactor.\n{{code}}\nKeep: {{constraints}}, {{code}} {{other}}\n</prompt>\n"


def test_as_skill_writes_a_skill_and_its_examples() -> None:
    skill = as_skill(FOLDER, TEMPLATE, {"happy-path": "code: a = 1\n"})
    assert skill["examples/happy-path.md"] == "# Example: happy-path\n\n```yaml\ncode: a = 1\n```\n"
    for part in (
        "Use when: refactor a file; remove global state. Do not use for: explaining code.",
        "- `{{constraints}}` (optional; nothing if not given): What must stay.\n- `{{other}}` (required)\n",
        f"## Instructions\n\n{TEMPLATE}\n## Examples of inputs\n\n- [happy-path](examples/happy-path.md)\n",
    ):
        assert part in skill["SKILL.md"]
    bare = replace(FOLDER, meta=PromptMeta("a-b", summary="Says it. Well"))
    head = "---\nname: a-b\ndescription: Says it. Well.\n---\n\n# a-b\n\nSays it. Well\n\n"
    assert as_skill(bare, "Say it.\n", {}) == {"SKILL.md": f"{head}## Instructions\n\nSay it.\n"}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"id": "Refactor"}, "the id 'Refactor' cannot name a skill"),
        ({"id": "re_factor"}, "single hyphens"),
        ({"id": "r" * 65}, "64 at most"),
        ({"id": "anthropic-tone"}, "may not contain 'anthropic'"),
        ({"id": "my-claude-helper"}, "may not contain 'claude'"),
        ({"description": None, "summary": "", "triggers": (), "not_for": ()}, "what the prompt is for"),
        ({"description": "d" * 1_000}, "a skill has at most 1,024"),
        ({"not_for": ("a > b",)}, "contains < or >"),
    ],
)
def test_as_skill_refuses_a_skill_that_no_agent_could_load(changed: dict[str, Any], message: str) -> None:
    folder = replace(FOLDER, meta=replace(META, **changed))
    with pytest.raises(InvalidInput) as refused:
        as_skill(folder, TEMPLATE, {})
    assert message in str(refused.value)
    assert all(problem.code == "BK772" and problem.at for problem in refused.value.problems)


WORDS = st.lists(st.text(max_size=20), max_size=3)


@given(st.text(max_size=60), WORDS, WORDS)
def test_front_matter_of_a_skill_is_read(description: str, triggers: list[str], not_for: list[str]) -> None:
    """Whatever the description says, the front matter is YAML with two keys, and ends where it should."""
    meta = replace(META, description=description, triggers=tuple(triggers), not_for=tuple(not_for))
    folder = replace(FOLDER, meta=meta)
    try:
        text = as_skill(folder, TEMPLATE, {})["SKILL.md"]
    except InvalidInput:
        return
    front = re.match(r"\A---\n(.*?)^---\n", text, re.DOTALL | re.MULTILINE)
    assert front is not None
    assert YAML.load(front[1], "SKILL.md") == [{"name": "refactor", "description": described(folder)}]
