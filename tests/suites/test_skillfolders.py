"""A prompt folder as a skill folder: what an agent loads, and what keeps it from being one."""

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
FOLDER = PromptFolder(
    "prompts/refactor",
    META,
    "prompts/refactor/meta.yml",
    "prompts/refactor/prompt.xml",
)
TEMPLATE = "<prompt>\nRefactor.\n{{code}}\nKeep: {{constraints}}, {{code}} {{other}}\n</prompt>\n"


def test_a_skill_holds_what_the_folder_says() -> None:
    skill = as_skill(FOLDER, TEMPLATE, {"happy-path": "code: a = 1\n"})
    assert skill == {
        "SKILL.md": (
            "---\n"
            "name: refactor\n"
            'description: "Refactors one file and answers with a diff. Use when: refactor a file; remove'
            ' global state. Do not use for: explaining code."\n'
            "---\n\n"
            "# Refactor one file\n\n"
            "Changes one file as the constraints say.\n\n"
            "## Variables\n\n"
            "The instructions contain names in double braces. Read each as the value that the request gives"
            " for it; where the request gives none for a required one, ask for it.\n\n"
            "- `{{code}}` (required)\n"
            "- `{{constraints}}` (optional; nothing if not given): What must stay.\n"
            "- `{{other}}` (required)\n\n"
            "## Instructions\n\n"
            "<prompt>\nRefactor.\n{{code}}\nKeep: {{constraints}}, {{code}} {{other}}\n</prompt>\n\n"
            "## Examples of inputs\n\n"
            "- [happy-path](examples/happy-path.md)\n"
        ),
        "examples/happy-path.md": "# Example: happy-path\n\n```yaml\ncode: a = 1\n```\n",
    }


def test_a_bare_folder_is_a_skill_too() -> None:
    bare = replace(FOLDER, meta=PromptMeta("a-b", summary="Says it. Well"))
    assert as_skill(bare, "Say it.\n", {}) == {
        "SKILL.md": (
            "---\nname: a-b\ndescription: Says it. Well.\n---\n\n# a-b\n\nSays it. Well\n\n"
            "## Instructions\n\nSay it.\n"
        )
    }


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"id": "Refactor"}, "the id 'Refactor' cannot name a skill"),
        ({"id": "re_factor"}, "single hyphens"),
        ({"id": "re--factor"}, "single hyphens"),
        ({"id": "-refactor"}, "single hyphens"),
        ({"id": "r" * 65}, "at most 64 characters, and this one 65"),
        ({"id": "my-claude-helper"}, "may not contain 'claude'"),
        ({"id": "anthropic-tone"}, "may not contain 'anthropic'"),
        ({"description": None, "summary": "", "triggers": (), "not_for": ()}, "what the prompt is for"),
        ({"description": "d" * 1_000}, "a skill has at most 1,024"),
        ({"description": "makes a <diff>"}, "contains < or >"),
        ({"not_for": ("a > b",)}, "contains < or >"),
    ],
)
def test_what_no_agent_could_load_is_refused(changed: dict[str, Any], told: str) -> None:
    folder = replace(FOLDER, meta=replace(META, **changed))
    with pytest.raises(InvalidInput) as refused:
        as_skill(folder, TEMPLATE, {})
    assert told in str(refused.value)
    assert all(problem.code == "BK772" and problem.at for problem in refused.value.problems)


@given(
    st.text(max_size=60),
    st.lists(st.text(max_size=20), max_size=3),
    st.lists(st.text(max_size=20), max_size=3),
)
def test_the_front_matter_reads_back(description: str, triggers: list[str], not_for: list[str]) -> None:
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
