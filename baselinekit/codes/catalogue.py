"""All codes together. Read only by who explains one: raising a problem needs no text of it."""

from baselinekit.codes import Code, files, replay, rules, trust, usage

CODES: dict[str, Code] = {**files.CODES, **replay.CODES, **rules.CODES, **trust.CODES, **usage.CODES}


def explain(code: str) -> Code | None:
    """The meaning of a code, or None for one that does not exist."""
    return CODES.get(code.upper())
