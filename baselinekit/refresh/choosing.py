"""Choosing a text: one that is offered, by its number, or one that is typed."""

from dataclasses import dataclass, replace

from baselinekit.model.review import Dialog

ENTER, ESCAPE = ("\r", "\n"), "\x1b"
_RUB_OUT, _CLEAR = ("\x7f", "\b"), "\x15"
_LONGEST = 500


@dataclass(frozen=True, slots=True)
class Turn:
    """What a key led to: the dialog as it is now (None: it was left), and the text if one was chosen."""

    dialog: Dialog | None
    taken: str | None = None
    said: str = ""


def turn(dialog: Dialog, key: str) -> Turn:
    """A number takes an offer and Enter the first one, `t` and `<` begin a text of one's own; Esc leaves."""
    if dialog.typed is not None:
        return _typing(dialog, dialog.typed, key)
    if key in (ESCAPE, "n", "q"):
        return Turn(None)
    if key in ENTER and dialog.offers:
        return Turn(dialog, dialog.offers[0].text)
    if key.isdecimal() and 0 < int(key) <= len(dialog.offers):
        return Turn(dialog, dialog.offers[int(key) - 1].text)
    if key in ("t", "<"):
        first = dialog.offers[0].text if dialog.offers and key == "t" else ""
        return Turn(replace(dialog, typed=first if key == "t" else key))
    return Turn(dialog, said=f"1 to {len(dialog.offers)} takes one, t types one, Esc leaves" if key else "")


def _typing(dialog: Dialog, typed: str, key: str) -> Turn:
    if key == ESCAPE:
        return Turn(None)
    if key in ENTER:
        return Turn(dialog, typed)
    if key in _RUB_OUT:
        typed = typed[:-1]
    elif key == _CLEAR:
        typed = ""
    elif key.isprintable() and len(typed) < _LONGEST:
        typed += key
    return Turn(replace(dialog, typed=typed))
