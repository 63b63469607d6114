"""One evaluation of one case of the oracle, under one reading of the specification."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import oracle_paths as paths
from oracle_paths import Place, Undecided, number
from oracle_placeholders import alone, fits, holds_one, parts_of, text_fits
from oracle_rules import (
    OPTIONS,
    READINGS,
    TEXT_OPTIONS,
    Bounds,
    Case,
    Env,
    How,
    Rule,
    bindings,
    bound,
    ids_of,
    media_type,
    near,
    no_optional,
    plain,
    rooted,
    same_id,
)


def open_(value: Any) -> bool:
    return isinstance(value, str) and holds_one(value)


class Judge:
    """One evaluation of one case under one reading."""

    def __init__(self, case: Case, reading: dict[str, Any], asked: dict[str, None]):
        self.case, self.reading, self.asked = case, reading, asked
        rules = case.rules
        tolerance = rules.get("tolerance", {})
        paths_of = {key: value for key, value in tolerance.items() if key not in OPTIONS}
        self.default = paths_of.pop("*", None)
        kinds = ("ignore_fields", "ignore_values", "require_keys", "arrays", "fields")
        self.kinds = {kind: self.rules(rules.get(kind, ()), kind.startswith("ignore")) for kind in kinds}
        self.kinds["tolerance"] = self.rules(paths_of)
        self.any_elements = [
            self.rule(rule.text, rule.steps[:-1], ignores=True)
            for rule in self.kinds["ignore_values"]
            if isinstance(rule.steps[-1], paths.Each)
        ]
        flags = {key: value for key, value in tolerance.items() if key in OPTIONS}
        self.templates: set[Place] = set()
        """Arrays whose elements are described, by what stands at no index."""
        self.how = How(rules.get("type", "structural"), {**flags, **rules.get("options", {})})

    def reads(self, flag: str) -> Any:
        self.asked[flag] = None
        return self.reading.get(flag, READINGS[flag][0])

    def rules(self, texts: Iterable[str], ignores: bool = False) -> list[Rule]:
        values = texts if isinstance(texts, dict) else {}
        if self.case.http and any(text[0] == "*" != text[1:2] for text in texts):
            self.reads("refused")
        rooted_ = ((text, rooted(text, self.case.expected, self.case.http)) for text in texts)
        return [self.rule(text, steps, values.get(text), ignores) for text, steps in rooted_]

    def rule(self, text: str, steps: tuple[Any, ...], value: Any = None, ignores: bool = False) -> Rule:
        expected, actual = self.case.expected, self.case.actual
        above = steps if steps and isinstance(steps[-1], paths.Deep) else steps[:-1]
        before = paths.select(above, expected, open_)
        last = [(place, paths.value_at(expected, place)) for place in before]
        gone = {
            below
            for place, one in last
            for step in steps[-1:]
            for below, _ in paths.stepped(step, place, one)
        }
        return Rule(
            text,
            steps,
            frozenset(paths.select(steps, expected)),
            frozenset(paths.select(steps, actual)),
            value,
            ignores,
            frozenset(paths.select(steps, expected, open_)),
            frozenset(gone),
            frozenset(before),
            frozenset(paths.select(above, actual)),
        )

    # Which rule selects a pair of places. `alone`: the side on which a value is, where the other has none;
    # the other place then says where it would be.

    def selects(self, rule: Rule, stored: Place, actual: Place, alone: str = "") -> bool:
        """How a thing is compared is for the stored output to say. What is left out is selected on both
        sides; what is on one side alone, there, and from where both sides are selected."""
        one, other = stored in rule.stored, actual in rule.actual
        if alone and not rule.ignores:
            return one if alone == "stored" else other
        if rule.ignores:
            one = stored in (rule.gone if alone else rule.open)
        if alone == "stored":
            other = bool(stored) and actual[:-1] in rule.actual_above and self.leads_last(rule, stored)
        stands = stored == actual and not any(stored[:n] in self.templates for n in range(len(stored)))
        if alone == "actual":
            one = stored[:-1] in rule.stored_above
            return other and (one or (not stands and self.reads("side") == "actual"))
        if stands or one == other:
            return one and (other or not rule.ignores)
        side = self.reads("side")
        return one if side == "stored" else side == "actual" and other

    def leads_last(self, rule: Rule, stored: Place) -> bool:
        """Whether the last step of a rule leads to a stored value, from wherever it stands."""
        above = paths.value_at(self.case.expected, stored[:-1])
        found = [below for step in rule.steps[-1:] for below, _ in paths.stepped(step, stored[:-1], above)]
        return stored in found

    def covers(self, rule: Rule, stored: Place, actual: Place) -> bool:
        """Whether it selects the pair or one that it lies in. The two places have the same length."""
        return any(self.selects(rule, stored[:n], actual[:n]) for n in range(len(stored) + 1))

    def ignored(self, kind: str, stored: Place, actual: Place, alone: str = "") -> bool:
        """Whether a rule of this kind selects the pair itself (below one nothing is asked any more)."""
        found = [rule for rule in self.kinds[kind] if self.selects(rule, stored, actual, alone)]
        if not found:
            return False
        exact = max(rule.rank for rule in found)
        kinds = ["arrays", "fields"]
        if not alone and number(paths.value_at(self.case.expected, stored)):
            kinds.append("tolerance")
        own = [rule for other in kinds for rule in self.kinds[other]]
        if any(rule.rank > exact and self.selects(rule, stored, actual, alone) for rule in own):
            return False
        others = [
            rule for other in self.kinds if other not in (kind, "require_keys") for rule in self.kinds[other]
        ]
        if any(rule.rank >= exact and self.over(rule, stored, actual, alone) for rule in others):
            return bool(self.reads("cross") == "ignored")
        return True

    def over(self, rule: Rule, stored: Place, actual: Place, alone: str) -> bool:
        if alone:
            place, chosen = (stored, rule.stored) if alone == "stored" else (actual, rule.actual)
            return any(place[:n] in chosen for n in range(len(place) + 1))
        return self.covers(rule, stored, actual)

    def takes_any(self, e: Any, a: Any, se: Place, sa: Place) -> bool:
        """Whether `ignore_values` on `array.*` lets any elements pass, and any number of them."""
        found = [rule for rule in self.any_elements if self.selects(rule, se, sa)]
        if not found:
            return False
        exact = max((*rule.rank[:2], rule.rank[2] + 1, rule.rank[3]) for rule in found)
        children = {(*se, n) for n in range(len(e))} | {(*sa, n) for n in range(len(a))}
        others = [rule for kind in ("tolerance", "fields", "arrays") for rule in self.kinds[kind]]
        if any(rule.rank >= exact and (rule.stored | rule.actual) & children for rule in others):
            return bool(self.reads("cross") == "ignored")
        return True

    def best(self, kind: str, stored: Place, actual: Place, covering: bool = False) -> Rule | None:
        """The most exact rule that selects a pair. Between equals that differ nothing decides."""
        test = self.covers if covering else self.selects
        found = [rule for rule in self.kinds[kind] if test(rule, stored, actual)]
        top = max((rule.rank for rule in found), default=None)
        best = [rule for rule in found if rule.rank == top]
        if any(rule.value != best[0].value for rule in best):
            raise Undecided("two equally exact rules")
        return best[0] if best else None

    # The walk.

    def passes(self) -> bool:
        expected, actual = self.case.expected, self.case.actual
        for rule in self.kinds["require_keys"]:
            if not paths.required(rule.steps, actual):
                return False
        return bool(self.match(expected, actual, (), (), self.how, frozenset()))

    def how_at(self, stored: Place, actual: Place, how: How) -> How:
        rule = self.best("fields", stored, actual)
        if rule is None or rule.rank < how.rank:
            return how
        value = rule.value
        flags = {key: one for key, one in (value.get("tolerance") or {}).items() if key in OPTIONS}
        bounds = {key: one for key, one in (value.get("tolerance") or {}).items() if key not in OPTIONS}
        own = {**flags, **value.get("options", {})}
        if any(flag not in own for flag in self.how.options):
            own = {**self.how.options, **own} if self.reads("inherit") else own
        return How(value.get("type", self.how.type), own, bounds or None, rule.rank, True)

    def match(self, e: Any, a: Any, se: Place, sa: Place, how: How, env: Env) -> set[Env]:
        """All bindings under which the actual value is what the stored one describes; none: it is not."""
        how = self.how_at(se, sa, how)
        if self.ignored("ignore_fields", se, sa) or self.ignored("ignore_values", se, sa):
            return {env}
        if how.type == "numeric":
            return {env} if self.numbers_hold(e, a, se, sa, how) else set()
        if isinstance(e, str):
            return self.text(e, a, how, env)
        if number(e):
            return {env} if number(a) and self.number_holds(e, a, se, sa, how) else set()
        if e is None or isinstance(e, bool):
            return {env} if e is a else set()
        if isinstance(e, dict):
            return self.object(e, a, se, sa, how, env) if isinstance(a, dict) else set()
        return self.array(e, a, se, sa, how, env) if isinstance(a, list) else set()

    def object(self, e: Any, a: Any, se: Place, sa: Place, how: How, env: Env) -> set[Env]:
        parts = self.case.http and se == ()
        headers = self.case.http and se == ("headers",)
        envs = {env}
        for key in e:
            here, there = (*se, key), (*sa, key)
            if key not in a:
                if not self.may_miss(e[key], here, there, how):
                    return set()
            elif headers and media_type(key, e[key], a[key]):
                continue
            else:
                envs = {new for old in envs for new in self.match(e[key], a[key], here, there, how, old)}
        extra = [] if parts or headers else [key for key in a if key not in e]
        if not all(self.may_be_extra((*se, key), (*sa, key), how) for key in extra):
            return set()
        return envs if parts or headers or self.order_holds(e, a, se, sa, how) else set()

    def order_holds(self, e: Any, a: Any, se: Place, sa: Place, how: How) -> bool:
        if how.options.get("allow_field_reordering", True):
            return True
        if how.type == "exact":
            raise Undecided("the order of keys where the type is exact")
        if [key for key in e if key in a] == [key for key in a if key in e]:
            return True
        kept = [key for key in e if key in a and not self.ignored("ignore_fields", (*se, key), (*sa, key))]
        in_order = kept == [key for key in a if key in kept]
        return in_order and not self.reads("ignored_order")

    def may_miss(self, e: Any, here: Place, there: Place, how: How) -> bool:
        placeholder = alone(e)
        if self.ignored("ignore_fields", here, there, "stored"):
            return True
        if placeholder and placeholder.maybe:
            return not self.ignored("ignore_values", here, there, "stored") or bool(self.reads("optional"))
        if how.options.get("allow_missing_fields", False):
            if how.type == "exact":
                raise Undecided("allow_missing_fields where the type is exact")
            return True
        return False

    def may_be_extra(self, here: Place, there: Place, how: How) -> bool:
        if self.ignored("ignore_fields", here, there, "actual"):
            return True
        if how.options.get("allow_additional_fields", False):
            if how.type == "exact":
                raise Undecided("allow_additional_fields where the type is exact")
            return True
        return self.ignored("ignore_values", here, there, "actual") and self.reads("extra_value") == "none"

    # Texts, placeholders, numbers.

    def text(self, e: str, a: Any, how: How, env: Env) -> set[Env]:
        parts = parts_of(e)
        if all(isinstance(part, str) for part in parts):
            same = isinstance(a, str) and plain("".join(map(str, parts)), how) == plain(a, how)
            return {env} if same else set()
        one = alone(e)
        if one is None:
            if not isinstance(a, str):
                return set()
            if how.options.keys() & set(TEXT_OPTIONS):
                raise Undecided("the options of texts with placeholders in them")
            return {env} if text_fits(parts, a) else set()
        return bound(one, a, env) if fits(one, a) else set()

    def number_holds(self, e: Any, a: Any, se: Place, sa: Place, how: How) -> bool:
        bounds = self.bounds(se, sa, how)
        if how.type == "exact":
            if bounds and number(a):
                raise Undecided("a tolerance where the type is exact")
            return type(e) is type(a) and e == a
        exact, came = Decimal(repr(e)), Decimal(repr(a))
        return all(near(exact, came, one) for one in bounds) if bounds else e == a

    def bounds(self, se: Place, sa: Place, how: How) -> list[Bounds]:
        """The tolerances of a number: the most exact ones over it, the default where there is none."""
        over = [rule for rule in self.kinds["tolerance"] if self.covers(rule, se, sa)]
        most = max((rule.rank for rule in over), default=None)
        found = [rule.value for rule in over if rule.rank == most]
        if how.tolerance is not None:
            if most is None or most < how.rank:
                return [how.tolerance]
            if most == how.rank:
                return [how.tolerance, *found]
            return [how.tolerance] if self.reads("field_tolerance") == "own" else found
        if most is None:
            if how.inner and self.default is not None:
                raise Undecided("whether the default holds inside of fields")
            hidden = self.default is None or (self.case.http and se[:1] != ("body",))
            return [] if hidden else [self.default]
        if how.inner and most < how.rank:
            raise Undecided("whether a less exact tolerance holds inside of fields")
        return found

    def numbers_hold(self, e: Any, a: Any, se: Place, sa: Place, how: How) -> bool:
        """The numbers of the stored output alone; arrays by place."""
        if isinstance(e, str) and holds_one(e):
            raise Undecided("a placeholder where the type is numeric")
        if number(e):
            return number(a) and self.number_holds(e, a, se, sa, how)
        if isinstance(e, list) and any(self.selects(rule, se, sa) for rule in self.kinds["arrays"]):
            raise Undecided("a rule for arrays where the type is numeric")
        if isinstance(e, list) and isinstance(a, list) and self.takes_any(e, a, se, sa):
            return True
        if isinstance(e, dict) and not how.options.get("allow_field_reordering", True):
            raise Undecided("the order of keys where the type is numeric")
        if isinstance(e, dict | list) and type(a) is not type(e) and not self.reads("numeric_shape"):
            return False
        found = dict(paths.children(a)) if type(a) is type(e) else {}
        for key, child in paths.children(e):
            here, there = (*se, key), (*sa, key)
            if key in found:
                if not self.match(child, found[key], here, there, how, frozenset()):
                    return False
            elif not self.numbers_may_miss(child, here, there):
                return False
        return True

    def numbers_may_miss(self, e: Any, here: Place, there: Place) -> bool:
        if self.ignored("ignore_fields", here, there, "stored"):
            return True
        if any(here in rule.stored for rule in self.kinds["fields"]):
            raise Undecided("another type below what is missing")
        if self.ignored("ignore_values", here, there, "stored"):
            return bool(self.reads("numeric_presence"))
        if isinstance(e, str) and holds_one(e):
            raise Undecided("a placeholder where the type is numeric")
        if number(e):
            if self.how.options.get("allow_missing_fields"):
                raise Undecided("allow_missing_fields where the type is numeric")
            return False
        if isinstance(e, dict | list) and not self.reads("numeric_shape"):
            return False
        below = paths.children(e)
        return all(self.numbers_may_miss(child, (*here, key), (*there, key)) for key, child in below)

    # Arrays.

    def array(self, e: Any, a: Any, se: Place, sa: Place, how: How, env: Env) -> set[Env]:
        if self.takes_any(e, a, se, sa):
            return {env}
        rule = self.best("arrays", se, sa)
        template = len(e) == 1 and holds_one(e)
        if how.type == "exact" and rule and rule.value != "ordered":
            raise Undecided("arrays where the type is exact")
        mode = rule.value if rule else "each" if template and how.type != "exact" else "ordered"
        if mode == "each":
            return self.each(e, a, se, sa, how, env)
        if isinstance(mode, dict):
            return self.by(mode["by"], e, a, se, sa, how, env)
        return (
            self.ordered(e, a, se, sa, how, env)
            if mode == "ordered"
            else self.pairings(e, a, se, sa, how, env, mode == "subset")
        )

    def ordered(self, e: Any, a: Any, se: Place, sa: Place, how: How, env: Env) -> set[Env]:
        """By place; or, where elements are ignored, in order without those of either side."""
        for one in e if len(e) != len(a) else ():
            no_optional(one)
        envs = {env} if len(e) == len(a) else set()
        for at in range(len(e)):
            envs = {new for old in envs for new in self.match(e[at], a[at], (*se, at), (*sa, at), how, old)}
        return envs or self.in_order(e, a, se, sa, how, env)

    def in_order(self, e: Any, a: Any, se: Place, sa: Place, how: How, env: Env) -> set[Env]:
        """In order, without what is ignored on either side: of that as much as is required, anywhere."""
        loose, free = self.loose(e, se, sa), self.free(a, se, sa)
        out = loose | {
            i for i in range(len(e)) if self.ignored("ignore_values", (*se, i), (*sa, i), "stored")
        }
        if (not out and not free) or len(out) - len(loose) > len(free):
            return set()
        rest = [i for i in range(len(e)) if i not in out], [j for j in range(len(a)) if j not in free]
        envs = {env} if len(rest[0]) == len(rest[1]) else set()
        for i, j in zip(*rest, strict=False):
            envs = {new for old in envs for new in self.match(e[i], a[j], (*se, i), (*sa, j), how, old)}
        return envs

    def loose(self, e: list[Any], se: Place, sa: Place) -> set[int]:
        """The stored elements that need not be there."""
        return {i for i in range(len(e)) if self.ignored("ignore_fields", (*se, i), (*sa, i), "stored")}

    def free(self, a: list[Any], se: Place, sa: Place) -> set[int]:
        """The actual elements that may be there all the same."""
        return {j for j in range(len(a)) if self.extra_element((*se, j), (*sa, j))}

    def extra_element(self, here: Place, there: Place) -> bool:
        if self.ignored("ignore_fields", here, there, "actual"):
            return True
        return self.ignored("ignore_values", here, there, "actual") and self.reads("extra_value") == "none"

    def each(self, e: Any, a: Any, se: Place, sa: Place, how: How, env: Env) -> set[Env]:
        """Every actual element is what one of the stored ones describes."""
        self.templates.add(se)
        if not e or (len(e) > 1 and bindings(e)):
            raise Undecided("each of nothing, or several with bindings")
        if not a and self.loose(e, se, sa):
            raise Undecided("no element, where all that each describes is ignored")
        if not a:
            return {env} if how.options.get("allow_empty_arrays", False) else set()
        envs = {env}
        for at, value in enumerate(a):
            there = (*sa, at)
            envs = {
                new
                for old in envs
                for which, one in enumerate(e)
                for new in self.match(one, value, (*se, which), there, how, old)
            }
        return envs

    def pairings(self, e: Any, a: Any, se: Place, sa: Place, how: How, env: Env, subset: bool) -> set[Env]:
        """Every pairing is tried: which of the actual elements are taken, under which bindings."""
        loose, free = self.loose(e, se, sa), self.free(a, se, sa)
        pair_ignored = bool(loose or free) and self.reads("pair_ignored")
        states: set[tuple[frozenset[int], Env]] = {(frozenset(), env)}
        for i, one in enumerate(e):
            no_optional(one)
            following = set(states) if i in loose else set()
            for taken, old in states if i not in loose or pair_ignored else ():
                for j in range(len(a)):
                    if j in taken or (j in free and i not in loose and not pair_ignored):
                        continue
                    news = self.match(one, a[j], (*se, i), (*sa, j), how, old)
                    following |= {(taken | {j}, new) for new in news}
            states = following
        needed = frozenset() if subset else frozenset(range(len(a))) - free
        return {new for taken, new in states if needed <= taken}

    def by(self, key: str, e: Any, a: Any, se: Place, sa: Place, how: How, env: Env) -> set[Env]:
        """Rows paired by the value of a key; what has no partner is missing or extra."""
        ids = ids_of(key, e)
        envs, taken, lost = {env}, set(), []
        for i, row in enumerate(e):
            partners = [j for j in range(len(a)) if isinstance(a[j], dict) and same_id(ids[i], a[j], key)]
            if len(partners) > 1:
                raise Undecided("actual rows with the same key")
            taken.update(partners)
            if partners:
                j = partners[0]
                envs = {new for old in envs for new in self.match(row, a[j], (*se, i), (*sa, j), how, old)}
            elif i not in self.loose(e, se, sa):
                lost.append(i)
        stand_in = self.free(a, se, sa) - taken
        kept = [i for i in lost if self.ignored("ignore_values", (*se, i), (*sa, i), "stored")]
        found = len(kept) == len(lost) <= len(stand_in)  # values that do not count stand for each other
        return envs if found and {*range(len(a))} - taken <= stand_in else set()

    # Rules that the file may be refused for.

    def leaves_something(self) -> bool:
        """Whether a stored leaf is left to compare: rules that ignore everything are an error."""
        kinds = ("ignore_fields", "ignore_values")
        ignored = frozenset().union(*(rule.stored for kind in kinds for rule in self.kinds[kind]))
        for place, value in paths.below(self.case.expected):
            leaf = not paths.children(value)
            if leaf and not any(place[:n] in ignored for n in range(len(place) + 1)):
                if any(place in rule.stored for rule in self.any_elements):
                    continue
                numeric = [rule for rule in self.kinds["fields"] if rule.value.get("type") == "numeric"]
                inside = any(self.covers(rule, place, place) for rule in numeric)
                if number(value) or not (inside or self.how.type == "numeric"):
                    return True
        return False

    def paired_by_plain_keys(self) -> None:
        """What is paired by a key has it in each stored row, as a plain value; nothing is said of others.
        Nor of rules for arrays where the type is exact, but for `ordered`, which is what exact means."""
        exact = [rule for rule in self.kinds["fields"] if rule.value.get("type") == "exact"]
        for rule in (rule for rule in self.kinds["arrays"] if rule.value != "ordered"):
            within = (self.covers(one, place, place) for one in exact for place in rule.stored)
            if self.how.type == "exact" or any(within):
                raise Undecided("arrays where the type is exact")
            for place in rule.stored if isinstance(rule.value, dict) else ():
                ids_of(rule.value["by"], paths.value_at(self.case.expected, place))
