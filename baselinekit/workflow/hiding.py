"""Secrets in what came back: refused where it is to be stored, or a placeholder put in their place."""

from collections.abc import Iterator, Sequence

from baselinekit.errors import Problem, Refused
from baselinekit.model.values import Json, Path
from baselinekit.placeholders.grammar import Token, escape, has_marker, split
from baselinekit.placeholders.narrowest import accepts_all
from baselinekit.secrets.finding import secret_parts
from baselinekit.tree.paths import render, value_at, with_values
from baselinekit.variables import Redactor
from baselinekit.workflow.learning import DECLARED, IN_A_NAME, secrets_in

_MOST_HIDDEN = 3
_FOR_SECRETS = ("<<any_uuid>>", "<<any_jwt>>", "<<any_hex>>", "<<any_token>>", "<<any_nonempty_string>>")


def hide_secrets(
    output: Json, redactor: Redactor, *, hide: bool, allow: bool
) -> tuple[Json, list[tuple[Path, str]]]:
    """The output without secrets, if placeholders are to stand for them, and where they stood. What is left
    of them is refused."""
    hidden: list[tuple[Path, str]] = []
    if hide:
        output, hidden = without_secrets(output, redactor)
    refuse_secrets_in_output(output, redactor, allow)
    return output, hidden


def describe_hidden(hidden: Sequence[tuple[Path, str]]) -> Iterator[str]:
    """Which places hold a placeholder now, for a secret that is stored nowhere."""
    if hidden:
        shown = ", ".join(render(path) for path, _ in hidden[:_MOST_HIDDEN])
        more = f" and {len(hidden) - _MOST_HIDDEN:,} more" if len(hidden) > _MOST_HIDDEN else ""
        what = "what looks like a secret is" if len(hidden) == 1 else "what looks like secrets is"
        yield f"{what} stored as a placeholder: {shown}{more}"


def refuse_secrets_in_output(output: Json, redactor: Redactor, allow: bool) -> None:
    """What looks like a secret is stored where the user insists; a declared one never is."""
    problems = []
    for path, what in secrets_in(output, redactor, lookalikes=not allow):
        place = path[:-1] if what.endswith(IN_A_NAME) else path
        insist = "" if what.startswith(DECLARED) else ", or pass --allow-secrets"
        hint = f"store a placeholder in its place: --placeholder-like secrets{insist}"
        if place != path:
            hint = f"store a placeholder: --placeholder '{render(place)}=<<any>>'{insist}"
        if place != path and not place:
            hint = f"make it answer without that{insist}"
        problems.append(Problem("BK522", f"{render(path) or 'the output'} holds {what}", hint))
    if problems:
        raise Refused(*problems)


def without_secrets(output: Json, redactor: Redactor) -> tuple[Json, list[tuple[Path, str]]]:
    """The output with a placeholder in the place of each secret, or of what looks like one, and where they
    stand. What stands in a key stays: no placeholder can."""
    found: dict[Path, str] = {}
    for path, what in secrets_in(output, redactor):
        if not what.endswith(IN_A_NAME) and path not in found:
            value = value_at(output, path)
            parts = [] if what.startswith(DECLARED) or not isinstance(value, str) else _cut(value, path)
            found[path] = "".join(parts) or _standing_for(value)
    return with_values(output, dict(found)), list(found.items())


def _standing_for(value: Json) -> str:
    """The narrowest placeholder that gives nothing away."""
    if not isinstance(value, str):
        return "<<any_number>>"
    return next(text for text in (*_FOR_SECRETS, "<<any_string>>") if accepts_all(text, [value]))


def _cut(text: str, path: Path) -> Iterator[str]:
    """The text with placeholders for its secrets; nothing, where only its name says that it is one."""
    parts: list[str | Token] = [*split(text)] if has_marker(text) else [text]
    if not any(secret_parts(part, path) for part in parts if isinstance(part, str)):
        return
    for number, part in enumerate(parts):
        if isinstance(part, Token):
            yield part.text
            continue
        position = 0
        for start, end in secret_parts(part, path):
            yield escape(part[position:start], followed=True)
            yield _standing_for(part[start:end])
            position = end
        yield escape(part[position:], followed=number + 1 < len(parts))
