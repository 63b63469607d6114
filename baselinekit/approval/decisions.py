"""Decisions that a program made: read strictly, and either all of them hold or none does."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import cast

from baselinekit.approval.approving import Permit, forbidden
from baselinekit.approval.planning import covers
from baselinekit.approval.review import Knows
from baselinekit.documents.jsontext import load_json
from baselinekit.errors import InvalidInput, Problem, nearest
from baselinekit.model.changes import VERBS, Change, Decision, Member, RefreshPlan, Verb
from baselinekit.model.values import Json, Path
from baselinekit.refresh.alternatives import (
    Changed,
    covered,
    no_placeholder,
    no_rule,
    rule_problem,
    rules_for,
)
from baselinekit.refresh.changes import with_after
from baselinekit.schema.validate import place_problems
from baselinekit.tree.paths import Pattern, parse, render

_KEYS = {"id": str, "number": int, "path": str, "decision": str, "value": str, "confirm": bool}
_TAKES_VALUE = ("placeholder", "ignore")
_MOST_NAMED = 5


def decisions_in(
    text: str, name: str, plans: Sequence[RefreshPlan], knows: Knows, permit: Permit
) -> dict[Member, Decision]:
    """What a text decides of these plans. InvalidInput holds everything that is wrong with it."""
    document = load_json(text, name)
    at: Path = ()
    if isinstance(document, dict) and document.keys() == {"decisions"}:
        document, at = document["decisions"], ("decisions",)
    if not isinstance(document, list):
        what = "decisions must be a list, or an object with the single key `decisions`"
        raise InvalidInput(*place_problems(text, name, {0: [Problem("BK538", what, _LOOKS, at=at)]}))
    reading = _DecisionReader(plans, knows, permit)
    for n, one in enumerate(document):
        reading.read(one, (*at, n))
    if reading.problems:
        raise InvalidInput(*place_problems(text, name, {0: reading.problems}))
    return {**_covered(plans, reading.decided), **reading.decided}


_LOOKS = 'an example: {"id": "users", "path": "body.name", "decision": "accept"}'


class _Wrong(Exception):
    """A decision that cannot be carried out: what, how to mend it, and at which of its keys."""

    def __init__(self, what: str, hint: str = "", key: str = "", code: str = "BK538"):
        super().__init__(what)
        self.problem = Problem(code, what, hint, at=(key,) if key else ())


@dataclass(slots=True)
class _DecisionReader:
    plans: Sequence[RefreshPlan]
    knows: Knows
    permit: Permit
    decided: dict[Member, Decision] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def read(self, one: Json, at: Path) -> None:
        try:
            verb = _checked(one)
            for member in self._members(one):
                if member in self.decided:
                    raise _Wrong(f"{self._named(member)} is decided twice", "decide it once")
                self._decide(member, verb, one)
        except _Wrong as wrong:
            self.problems.append(replace(wrong.problem, at=(*at, *(wrong.problem.at or ()))))

    def _members(self, one: dict[str, Json]) -> list[Member]:
        """The changes that a decision names: those of a baseline, at a path or with a number."""
        chosen = [n for n, plan in enumerate(self.plans) if fnmatchcase(plan.baseline.id, one["id"])]
        if not chosen:
            hint = nearest(one["id"], [plan.baseline.id for plan in self.plans])
            raise _Wrong(f"nothing of {one['id']!r} is pending", hint or "review --json lists it", "id")
        pattern = _pattern(one["path"]) if "path" in one else None
        found = [
            (n, change.number)
            for n in chosen
            for change in self.plans[n].changes
            if one.get("number", change.number) == change.number
            and (pattern is None or _leads(pattern, one["path"], change, self.plans[n]))
        ]
        if not found:
            key = "path" if "path" in one else "number"
            known = [_where(change) for n in chosen for change in self.plans[n].changes]
            hint = nearest(str(one[key]), known) or f"what changes is {', '.join(known[:_MOST_NAMED])}"
            raise _Wrong(f"nothing changes at {key} {one[key]!r}", hint, key)
        return found

    def _decide(self, member: Member, verb: Verb, one: dict[str, Json]) -> None:
        plan = self.plans[member[0]]
        change = plan.changes[member[1]]
        text = ""
        if verb == "placeholder":
            text = self._placeholder((plan, change), one)
            plan = with_after(plan, change.number, text)
        elif verb == "ignore":
            text = _rule((plan, change), one)
        if verb in ("accept", "placeholder"):
            permit = Permit(True, True) if one.get("confirm") else self.permit
            why = forbidden(plan, {change.number}, permit)
            if why is not None:
                hint = 'if it is meant, add "confirm": true' if why.code != "BK534" else why.hint
                raise _Wrong(f"{plan.baseline.id}: {why.message}", hint, "decision", why.code)
        self.decided[member] = Decision(verb, text)

    def _placeholder(self, changed: Changed, one: dict[str, Json]) -> str:
        why = no_placeholder(changed[1])
        if why:
            raise _Wrong(why, "accept or reject it", "decision")
        text = one["value"] if "value" in one else self.knows.offers([changed])[0].text
        why = self.knows.problem(text, [changed])
        if why:
            raise _Wrong(f"{text}: {why}", "", "value" if "value" in one else "decision")
        return str(text)

    def _named(self, member: Member) -> str:
        plan = self.plans[member[0]]
        return f"{plan.baseline.id} {_where(plan.changes[member[1]])}"


def _checked(one: Json) -> Verb:
    """The verb of a decision that says what it must, and nothing else."""
    if not isinstance(one, dict):
        raise _Wrong("a decision must be an object", _LOOKS)
    for key, value in one.items():
        if key not in _KEYS:
            raise _Wrong(f"a decision has no key {key!r}", nearest(key, _KEYS) or ", ".join(_KEYS), key)
        if not isinstance(value, _KEYS[key]) or (isinstance(value, bool) and key != "confirm"):
            raise _Wrong(f"{key} is {_A[_KEYS[key]]}", "", key)
    missing = next((key for key in ("id", "decision") if key not in one), None)
    if missing:
        raise _Wrong(f"a decision needs its {missing}", _LOOKS)
    if one["decision"] not in VERBS:
        hint = nearest(one["decision"], VERBS) or ", ".join(VERBS)
        raise _Wrong(f"there is no decision {one['decision']!r}", hint, "decision")
    if "value" in one and one["decision"] not in _TAKES_VALUE:
        raise _Wrong(f"{one['decision']} takes no value", "a placeholder does, and ignore", "value")
    return cast(Verb, one["decision"])


_A: Mapping[type, str] = {str: "a text", int: "a number", bool: "true or false"}


def _pattern(text: str) -> Pattern:
    try:
        return parse(text)
    except InvalidInput as error:
        raise _Wrong(error.problems[0].message, error.problems[0].hint, "path", "BK201") from None


def _leads(pattern: Pattern, text: str, change: Change, plan: RefreshPlan) -> bool:
    return covers(pattern, change, plan) if change.part == "output" else text == _where(change)


def _where(change: Change) -> str:
    return render(change.path if change.part == "output" else ("baseline", *change.path))


def _covered(plans: Sequence[RefreshPlan], decided: Mapping[Member, Decision]) -> dict[Member, Decision]:
    """What else the rules take care of."""
    rules = {(n, one.text): one for (n, _), one in decided.items() if one.verb == "ignore"}
    return {(n, number): one for (n, text), one in rules.items() for number in covered(plans[n], text)}


def _rule(changed: Changed, one: dict[str, Json]) -> str:
    why = no_rule(changed[1])
    if why:
        raise _Wrong(why, "accept or reject it", "decision")
    text = str(one.get("value", "")) or rules_for(*changed)[0].text
    why = rule_problem(text, [changed])
    if why:
        raise _Wrong(f"{text}: {why}", "", "value")
    return text


def undecided(plans: Sequence[RefreshPlan], decided: Mapping[Member, Decision]) -> Iterator[Member]:
    """What still waits after all of that."""
    for n, plan in enumerate(plans):
        for change in plan.changes:
            if decided.get((n, change.number), Decision("skip")).verb == "skip":
                yield n, change.number
