"""A prompt folder as a skill: the SKILL.md and the examples that an agent loads."""

from collections.abc import Iterator, Mapping

from baselinekit.errors import InvalidInput, Problem
from baselinekit.files.languages import dump_yaml
from baselinekit.lazy import lazy_pattern
from baselinekit.model.prompts import PromptFolder, PromptVariable
from baselinekit.secrets.variables import as_text, names_in

_NAME = lazy_pattern(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_RESERVED = ("claude", "anthropic")
_LONGEST_NAME, _LONGEST_DESCRIPTION = 64, 1_024


def as_skill(folder: PromptFolder, template: str, examples: Mapping[str, str]) -> Mapping[str, str]:
    """Return the files of a prompt folder as a skill, by their paths in its folder. `template`: the text of
    the prompt; `examples`: the texts of the examples' inputs, by name. InvalidInput, with paths below the
    description, if no agent could load it."""
    description = described(folder)
    if problems := [*_flaws(folder.id, description)]:
        raise InvalidInput(*problems)
    files = {
        f"examples/{name}.md": f"# Example: {name}\n\n```yaml\n{text.strip()}\n```\n"
        for name, text in sorted(examples.items())
    }
    links = [f"- [{name}](examples/{name}.md)" for name in sorted(examples)]
    return {"SKILL.md": _format_skill_file(folder, template, description, links), **files}


def described(folder: PromptFolder) -> str:
    """Describe in one line what the skill is for, when to use it and when not."""
    meta = folder.meta
    parts = [meta.description or meta.summary]
    parts += [f"Use when: {'; '.join(meta.triggers)}"] if meta.triggers else []
    parts += [f"Do not use for: {'; '.join(meta.not_for)}"] if meta.not_for else []
    return " ".join(_as_sentence(part) for part in parts if part.strip())


def _as_sentence(text: str) -> str:
    text = " ".join(text.split())
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _flaws(name: str, description: str) -> Iterator[Problem]:
    message = f"the id {name!r} cannot name a skill"
    if not _NAME.fullmatch(name):
        hint = "a skill's name has lower-case letters, digits and single hyphens: rename the folder"
        yield Problem("BK772", message, hint, at=("id",))
    elif len(name) > _LONGEST_NAME:
        hint = f"a skill's name has at most {_LONGEST_NAME} characters, and this one {len(name)}"
        yield Problem("BK772", message, hint, at=("id",))
    for word in (word for word in _RESERVED if word in name.lower()):
        yield Problem("BK772", message, f"a skill's name may not contain {word!r}", at=("id",))
    at, size = ("description",), len(description)
    if not description:
        hint = "write a `description`: by it an agent decides whether to load the skill"
        yield Problem("BK772", "nothing says what the prompt is for", hint, at=at)
    if size > _LONGEST_DESCRIPTION:
        message = f"the description, the triggers and `not_for` are {size:,} characters together"
        yield Problem("BK772", message, f"a skill has at most {_LONGEST_DESCRIPTION:,}: shorten them", at=at)
    if {"<", ">"} & {*description}:
        message = "the description, a trigger or `not_for` contains < or >"
        yield Problem("BK772", message, "a skill's description may not: say it in words", at=at)


def _format_skill_file(folder: PromptFolder, template: str, description: str, links: list[str]) -> str:
    meta = folder.meta
    front_matter = dump_yaml({"name": meta.id, "description": description})
    parts = [f"---\n{front_matter}---", f"# {' '.join(meta.title.split()) or meta.id}"]
    if meta.summary:
        parts.append(meta.summary.strip())
    if variables := list(_describe_variables(folder, template)):
        parts.append("\n".join(["## Variables", "", _VARIABLES_NOTE, "", *variables]))
    parts.append(f"## Instructions\n\n{template.strip()}")
    if links:
        parts.append("\n".join(["## Examples of inputs", "", *links]))
    return "\n\n".join(parts) + "\n"


_VARIABLES_NOTE = (
    "The instructions contain names in double braces. Read each as the value that the request gives for it; "
    "where the request gives none for a required one, ask for it."
)


def _describe_variables(folder: PromptFolder, template: str) -> Iterator[str]:
    """Describe each variable of the template in a line."""
    for name in dict.fromkeys(names_in(template)):
        variable = folder.meta.inputs.get(name, PromptVariable())
        kind = "required" if variable.required and variable.default is None else "optional"
        if variable.default is not None:
            kind = f"optional; {' '.join(as_text(variable.default).split())} if not given"
        description = f": {' '.join(variable.description.split())}" if variable.description else ""
        yield f"- `{{{{{name}}}}}` ({kind}){description}"
