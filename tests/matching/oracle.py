"""An oracle for the verdict of a comparison: SPEC §4, evaluated slowly and plainly.

It was written from the specification alone, by somebody who had not seen the matcher, and shares no code
with it. Every rule is a set of places in the stored output and a set of places in the actual one; the two are
walked together; an array in any order tries every pairing; a set of possible bindings is carried along.

Where the specification can be read in two ways, the evaluation asks `reads(flag)`: the first reading is the
strict one, and all others of the flags that were asked are tried as well. When they give different verdicts,
the case is undecided, and the matcher may answer either way. `READINGS` lists them all."""

from itertools import product
from typing import Any

from oracle_judge import Judge
from oracle_paths import Undecided
from oracle_rules import READINGS, Case, Refused, plain_headers


def verdicts(case: Case) -> set[str]:
    """What may be answered: one verdict where the specification decides, more where it does not."""
    case = (
        Case(plain_headers(case.expected), plain_headers(case.actual), case.rules, True)
        if case.http
        else case
    )
    try:
        asked: dict[str, None] = {}
        judge = Judge(case, {}, asked)
        judge.paired_by_plain_keys()
        if case.http and case.expected in ({}, {"headers": {}}) and not case.rules.get("require_keys"):
            return {"refused"}  # what states nothing compares nothing
        if not judge.leaves_something():
            return {"pass", "fail", "refused"}
        found = {verdict_by(case, {}, asked)}
        tried: set[tuple[Any, ...]] = set()
        while len(found) == 1:
            choices = [READINGS[flag] for flag in list(asked)[:5]]
            fresh = [one for one in product(*choices) if one not in tried]
            if not fresh:
                return found
            for one in fresh:
                tried.add(one)
                found.add(verdict_by(case, dict(zip(asked, one, strict=False)), asked))
    except Refused:
        return {"refused"}
    except Undecided:
        return {"pass", "fail", "refused"}
    return found


def verdict_by(case: Case, reading: dict[str, Any], asked: dict[str, None]) -> str:
    judge = Judge(case, reading, asked)
    if reading.get("refused"):
        return "refused"
    return "pass" if judge.passes() else "fail"
