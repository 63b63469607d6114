"""A skill that is a folder: its SKILL.md holds the instructions that a model follows."""

import os
import re
from collections.abc import Mapping
from contextlib import suppress

from baselinekit.documents.jsonfile import pretty
from baselinekit.model.asking import Message
from baselinekit.model.values import Json
from baselinekit.replay.files import inside, read_if_there, read_text
from baselinekit.replay.setting import Setting

_FOLDERS = ("skills", os.path.join(".claude", "skills"))
_FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n.*?^---[ \t]*\r?\n", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s#:]+\.(?:md|txt))\)")
_MOST_LINKED = 200_000


def found_folder(name: str, setting: Setting) -> str | None:
    """The folder of a skill that the configuration does not name, from the project's root."""
    for folder in _FOLDERS:
        path = os.path.join(folder, name)
        if read_if_there(setting.surroundings, os.path.join(path, "SKILL.md"), setting.surroundings.root):
            return path
    return None


def found_names(setting: Setting) -> list[str]:
    """The names of such folders, for who has mistyped one."""
    found: list[str] = []
    for folder in _FOLDERS:
        above = os.path.join(setting.surroundings.root, folder)
        with suppress(OSError):
            names = os.listdir(above)
            found += [name for name in names if os.path.isfile(os.path.join(above, name, "SKILL.md"))]
    return found


def instructions(folder: str, setting: Setting) -> str:
    """What SKILL.md says, and the texts of its folder that it links to: a model cannot open them itself."""
    root = setting.surroundings.root
    path = os.path.join(root, folder)
    text = _FRONT_MATTER.sub("", read_text(setting.surroundings, os.path.join(path, "SKILL.md")))
    parts, size = [text], 0
    for link in dict.fromkeys(_LINK.findall(text)):
        linked = os.path.join(path, link)
        if not inside(setting.surroundings, linked).startswith(os.path.realpath(path) + os.sep):
            continue
        content = read_if_there(setting.surroundings, linked)
        size += len(content or b"")
        if content is not None and size <= _MOST_LINKED:
            parts.append(f"# {link}\n\n{content.decode('utf-8', 'replace')}")
    return "\n\n".join(parts)


def messages_for(text: str, asked: Json, parameters: Mapping[str, Json]) -> tuple[Message, ...]:
    """The instructions and the input: a text as it is, a mapping as one part for each name."""
    given = asked if isinstance(asked, dict) else {"": asked}
    parts = [
        f"<{name}>\n{_shown(value)}\n</{name}>" if name else _shown(value) for name, value in given.items()
    ]
    if parameters:
        parts.append(f"<parameters>\n{pretty(dict(parameters), '  ')}\n</parameters>")
    return (Message("system", text), Message("user", "\n\n".join(parts)))


def _shown(value: Json) -> str:
    return value if isinstance(value, str) else pretty(value, "  ")
