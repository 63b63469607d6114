"""All codes together. Read only by who explains one: raising a problem needs no text of it."""

from baselinekit.codes import Code, evals, files, models, replay, rules, trust, usage

CODES: dict[str, Code] = {
    **files.CODES,
    **rules.CODES,
    **replay.CODES,
    **trust.CODES,
    **usage.CODES,
    **models.CODES,
    **evals.CODES,
}


def explain(code: str) -> Code | None:
    """The meaning of a code, or None for one that does not exist."""
    return CODES.get(code.upper())
