"""The way into compare/: a baseline is compiled once, and each observation is compared in one walk."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from baselinekit.compare import limits, settings
from baselinekit.compare.arrays import in_document_order
from baselinekit.compare.compiler import Compiler
from baselinekit.compare.limits import is_limit as is_limit
from baselinekit.compare.objects import missing_keys
from baselinekit.compare.rules import Rule, automaton_of, least_similarity as least_similarity
from baselinekit.compare.walk import Node, Walk
from baselinekit.compare.weakened import weakened as weakened
from baselinekit.errors import InvalidInput, Problem
from baselinekit.kinds.table import kind_of
from baselinekit.model.baselines import (
    TOPIC_ONLY,
    Answers,
    Baseline,
    Comparison,
    Known,
    RuleReport,
    Rules,
    Type,
    known_path,
    renamed,
)
from baselinekit.model.recipes import Observation
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.placeholders.table import Words
from baselinekit.texts import many
from baselinekit.tree.paths import Pattern, suggest

_NO_ANSWERS: Answers = {}


@dataclass(frozen=True, slots=True)
class Matcher:
    """One baseline's rules and output, ready to be walked."""

    root: Node
    form: settings.Form
    type: Type
    rules: Rules
    known: Known
    path_rules: tuple[Rule, ...]
    required: tuple[tuple[Pattern, Path], ...]
    compiler: Compiler

    def compare(self, observation: Observation, answers: Answers = _NO_ANSWERS) -> Comparison:
        """The one walk. An answer that cannot be judged (a limit) is CannotReplay, never a verdict."""
        walk = Walk(self.compiler.open, self.compiler.bound, answers)
        walk.hits.update(self.compiler.hits)
        resolved = self.root.walk(observation.output, walk, None)
        differences = walk.differences
        if walk.shuffled:
            differences = in_document_order(differences, self.root.expected)
        known_missing = {found.path for found in differences if found.kind == "missing"}
        headers = [path for path, kind in self.form.items() if kind == "headers"]
        absent = missing_keys(self.required, observation.output, headers)
        further = [
            *(found for found in absent if found.path not in known_missing),
            *limits.exceeded(self.rules, self.known, observation),
            *limits.too_old(self.rules, self.known, self.compiler.words.now),
        ]
        return Comparison(
            (*differences, *further),
            walk.count + len(further),
            resolved,
            tuple(self._reports(walk)),
            tuple(walk.questions),
        )

    @property
    def hits(self) -> frozenset[Rule]:
        """The rules that met something in the stored output."""
        return frozenset(self.compiler.hits)

    @property
    def arrays(self) -> dict[Path, str]:
        """The arrays that are compared in a way of their own."""
        return self.compiler.arrays

    def explain(self, comparison: Comparison) -> list[str]:
        """The differences in words, for who asks for more."""
        from baselinekit.compare.explain import explain

        return explain(self.root.expected, comparison)

    def _reports(self, walk: Walk) -> Iterator[RuleReport]:
        met = {rule.at for rule in walk.hits}
        stale = {rule.at: rule for rule in self.path_rules if rule.at not in met}
        for rule in stale.values():
            near = suggest(rule.pattern, self.root.expected)
            what = f"{rule.kind}: {rule.text} matched nothing" + (f": {near}" if near else "")
            yield RuleReport(rule.text, "stale", what, rule.at)
        for rule, what in walk.hidden.items():
            yield RuleReport(
                rule.text, "hid", f"{rule.kind}: {rule.text} hid a change of type: {what}", rule.at
            )
        if number := self.compiler.uncompared:
            what = f"{many(number, 'value')} other than numbers: not compared (type: numeric)"
            yield RuleReport("numeric", "uncompared", what, ("comparison", "type"))
        if self.rules.method is not None or self.rules.fields:
            for at, what in renamed(self.rules):
                yield RuleReport("method", "advice", what, at)
        if (
            walk.answers
            and not walk.count
            and any(question.method == "embedding" for question in walk.answers)
        ):
            yield RuleReport("embedding", "advice", TOPIC_ONLY, ("comparison", "method"))
        yield from limits.unchecked_ratios(self.rules, self.known)
        yield from limits.age_reports(self.rules, self.known, self.compiler.words.now)


def compile_baseline(baseline: Baseline, words: Words) -> Matcher:
    """Everything that can be wrong with the rules or the stored output is found here, all at once."""
    known = baseline.baseline
    if known is None or known.output is ABSENT:
        what = f"{baseline.id} has no stored output yet"
        raise InvalidInput(Problem("BK223", what, "capture it: baselinekit capture from FILE", at=()))
    output, rules, form = known.output, baseline.comparison, settings.form_of(baseline.current)
    compiler = Compiler(words)
    problems = compiler.problems
    problems += settings.check_form(output, form)
    mode = settings.base_mode(rules, output, baseline.current.kind, problems)
    if rules.cost is not None and kind_of(baseline.current).asks_models == "never":
        what = f"`cost` has no effect on a recipe of type {baseline.current.kind}"
        problems.append(Problem("BK203", what, "remove it", at=("comparison", "cost")))
    path_rules, required = settings.path_rules(rules, output, form, problems)
    automaton = automaton_of(path_rules)
    root = compiler.output(output, form, mode, automaton.start)
    states_nothing = bool(form) and output in ({}, {"headers": {}})
    unchecked = not compiler.checked and (compiler.hits or compiler.uncompared or states_nothing)
    limited = rules.latency is not None or rules.cost is not None
    if not problems and unchecked and not required and not limited:
        what = "the output contains nothing to compare" if states_nothing else "the rules ignore everything"
        what += ": this baseline could never fail"
        problems.append(Problem("BK224", what, "leave something to compare", at=("comparison",)))
    if problems:
        if baseline.variant is not None:  # what is wrong with its output stands there
            stored = (*known_path(None), "output")
            places = [(problem, problem.at or ()) for problem in problems]
            problems = [
                replace(problem, at=(*baseline.output_path, *at[2:])) if at[:2] == stored else problem
                for problem, at in places
            ]
        raise InvalidInput(*problems)
    return Matcher(root, form, mode.type, rules, known, tuple(automaton.rules), tuple(required), compiler)


def default_type(output: Json, kind: str) -> Type:
    """The type that a captured file states, and that one which states none is compared by."""
    return settings.default_type(output, kind)
