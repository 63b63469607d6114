"""What a review asks before a decision stands, in words."""

from collections.abc import Iterator, Sequence

from baselinekit.model.changes import Change
from baselinekit.model.review import Dialog, Verb
from baselinekit.paths import render

_TO_DO: dict[Verb, str] = {"accept": "accept", "reject": "reject", "skip": "leave"}


def needs_words(change: Change) -> bool:
    """Whether one key is not enough: somebody may rely on what would change, or has thought about it."""
    return change.risk == "high" or bool(change.lost)


def confirmation(changes: Sequence[Change]) -> str:
    """The question, with what speaks against a yes; empty if nothing does."""
    reasons = list(dict.fromkeys(_reasons(changes)))
    if not reasons:
        return ""
    if len(reasons) == 1:
        return f"this {reasons[0]}: accept?"
    return f"this {', '.join(reasons[:-1])} and {reasons[-1]}: accept?"


def _reasons(changes: Sequence[Change]) -> Iterator[str]:
    high = [change for change in changes if change.risk == "high"]
    for kind, one, several in (
        ("removed", "removes a key that was guarded", "removes {} keys that were guarded"),
        ("retyped", "makes a value one of another type", "makes {} values of another type"),
    ):
        found = [change for change in high if change.kind == kind]
        if found:
            yield one if len(found) == 1 else several.format(len(found))
    others = [change for change in high if change.kind not in ("removed", "retyped")]
    if len(others) == 1:
        yield others[0].note or f"makes a failure at {render(others[0].path)} the known-good answer"
    elif others:
        yield f"makes {len(others)} changes of high risk"
    lost = list(dict.fromkeys(one.text for change in changes for one in change.lost))
    if lost:
        number = sum(len(change.lost) for change in changes)
        times = f" ({number} times)" if number > len(lost) else ""
        yield f"gives up {', '.join(lost[:3])}{', …' if len(lost) > 3 else ''}{times}"


def everything(verb: Verb, number: int, baselines: int, here: tuple[str, int]) -> Dialog:
    """Whether what remains is meant, or only what remains of one baseline."""
    if baselines == 1:
        return Dialog(f"{_TO_DO[verb]} all {number} that remain?", keys_of("y yes", "n no"))
    id, few = here
    question = f"{_TO_DO[verb]} all {number} that remain, in {baselines} baselines?"
    return Dialog(question, keys_of("y all", f"b the {few} of {id}", "n no"))


def keys_of(*words: str) -> tuple[tuple[str, str], ...]:
    """`y yes` as the key and what it does."""
    return tuple((key, does) for key, _, does in (word.partition(" ") for word in words))
