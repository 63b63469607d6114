"""What several replays of a new baseline teach, and the stored output that is made of them."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal

from baselinekit.errors import InvalidInput
from baselinekit.frozen import frozen
from baselinekit.kinds.table import kind_of
from baselinekit.matching.dispatch import Matcher, bytes_if_literal, compile_baseline
from baselinekit.model.baselines import ArrayMode, Baseline, Comparison, Known
from baselinekit.model.recipes import Observation
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.placeholders.grammar import Token, describes_many, escape, has_marker, split, tokens_in
from baselinekit.placeholders.narrowest import PlaceholderProposal, is_alone, narrowest
from baselinekit.placeholders.nature import is_amount, is_counted, named, tells_of_process
from baselinekit.placeholders.pieces import Write
from baselinekit.placeholders.table import Words
from baselinekit.refresh.learning import ReplayView, UnlearnablePlace, Volatile, learn_places
from baselinekit.refresh.linking import LinkView, linked
from baselinekit.refresh.made import made_by_write
from baselinekit.refresh.steady import Steadiness, lookalikes, moments_of_now, volatile_values
from baselinekit.secrets.finding import BY_NAME, likeness, says_secret
from baselinekit.secrets.short import KnownValues, with_variables
from baselinekit.secrets.together import says_secrets, texts_in
from baselinekit.tree.paths import render
from baselinekit.tree.places import children, places, value_at, with_values
from baselinekit.variables import Redactor, Scope, names_in
from baselinekit.workflow.project import Project

# What came back, as a stored output: texts that look like placeholders escaped, declared values named.


DECLARED = "the secret"
IN_A_NAME = ", in its name"
_SHORTEST_VALUE = 8
_VARIABLE = "var"


class Templating:
    """Writes `<<var(name)>>` where the value of a declared variable, or a secret, occurs in a text. Short
    values are left alone: they occur by chance."""

    def __init__(self, scope: Scope):
        texts = ((name, value) for name, value in scope.values.items() if isinstance(value, str))
        values = {name: value for name, value in texts if len(value) >= _SHORTEST_VALUE}
        secrets = {name: secret.value for name, secret in scope.secrets.items()}
        self._scope = scope
        self._declared = KnownValues(values, secrets)
        self._used: set[str] = set()

    def template(self, value: Json) -> Json:
        """The value itself, where nothing in it is to be written otherwise."""
        if isinstance(value, str):
            return self.text(value)
        return self._changed(value) if self._may_change(value) else value

    def _may_change(self, value: Json) -> bool:
        """By its bytes: a look at each text would take longer than all else."""
        data = bytes_if_literal(value)
        return data is None or self._declared.may_be_in(data)

    def _changed(self, value: Json) -> Json:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return list(map(self._changed, value))
        if isinstance(value, dict):
            return {key: self._changed(item) for key, item in value.items()}
        return value

    def expanded(self, text: str) -> str | None:
        """The text that a stored one stands for, where it holds no placeholder but variables, and more than
        one of them alone."""
        try:
            parts = split(text)
        except InvalidInput:
            return None
        tokens = [part for part in parts if isinstance(part, Token)]
        if len(tokens) == len(parts) or any(token.name != _VARIABLE for token in tokens):
            return None
        values = {token.text: self._scope.declared(str(token.args[0])) for token in tokens}
        if not all(isinstance(value, str) for value in values.values()):
            return None
        return "".join(str(values[part.text]) if isinstance(part, Token) else part for part in parts)

    def notes(self) -> list[str]:
        return [f"the value of {name} is stored as <<var({name})>>" for name in sorted(self._used)]

    def text(self, text: str, followed: bool = False) -> str:
        """`followed`: a placeholder comes right after it."""
        result, position = "", 0
        for start, end, name in self._declared.find(text):
            before = escape(text[position:start], followed=True)
            self._used.add(name)
            result += f"{before}<<var({name})>>"
            position = end
        return result + escape(text[position:], followed)


def arrays_of_one(output: Json, path: Path = ()) -> Iterator[Path]:
    """Arrays of one element that holds a placeholder: on file they would describe arrays of any length."""
    if bytes_if_literal(output) is None:  # most outputs hold none anywhere
        yield from _arrays_of_one(output, path)


def _arrays_of_one(output: Json, path: Path) -> Iterator[Path]:
    if isinstance(output, list) and len(output) == 1 and describes_many(output[0]):
        yield path
    for key, child in children(output):
        if isinstance(child, dict | list):
            yield from _arrays_of_one(child, (*path, key))


def with_names(value: Json, scope: Scope) -> Json:
    """A recipe with `{{name}}` wherever the value of a secret was typed."""
    secrets = {name: secret.value for name, secret in scope.secrets.items()}
    return with_variables(value, KnownValues({}, secrets)) if secrets else value


def secrets_in(
    value: Json, redactor: Redactor, path: Path = (), lookalikes: bool = True
) -> Iterator[tuple[Path, str]]:
    """Where a recipe or an output would give something away if it were stored: a declared secret in any
    spelling, or with `lookalikes` what looks like a secret. Placeholders and variables give nothing away."""
    if not isinstance(value, dict | list):
        what = (
            None
            if value is None or isinstance(value, bool)
            else _given_away(value, redactor, path, lookalikes)
        )
        if what is not None:
            yield path, what
        return
    texts, keys = texts_in(value)
    unsure = redactor.suspected(texts) | set(filter(has_marker, texts))
    numbers = redactor.holds_number(value)
    if unsure or numbers or says_secrets(keys):
        yield from _Look(redactor, lookalikes, unsure, numbers).through(value, path)


@frozen
class _Look:
    """A look through a document. `unsure`: the texts that are worth one; `numbers`: whether numbers are."""

    redactor: Redactor
    lookalikes: bool
    unsure: Collection[str]
    numbers: bool

    def through(self, value: Json, path: Path) -> Iterator[tuple[Path, str]]:
        for key, child in children(value):
            at = (*path, key)
            if isinstance(key, str) and key in self.unsure and (what := self.given_away(key, ())):
                yield at, f"{what}{IN_A_NAME}"
            if isinstance(child, dict | list):
                yield from self.through(child, at)
            elif self.is_worth_it(child, at) and (what := self.given_away(child, at)):
                yield at, what

    def is_worth_it(self, value: Json, path: Path) -> bool:
        if isinstance(value, str):
            return value in self.unsure or says_secret(path)
        return self.numbers and isinstance(value, int | float | Decimal) and not isinstance(value, bool)

    def given_away(self, value: Json, path: Path) -> str | None:
        return _given_away(value, self.redactor, path, self.lookalikes)


def _given_away(value: Json, redactor: Redactor, path: Path, lookalikes: bool) -> str | None:
    names = redactor.found_in(str(value))
    if names:
        return f"{DECLARED} {', '.join(sorted(names))}"
    if not isinstance(value, str) or not lookalikes:
        return None
    literals = _literals(value)
    is_whole = literals == [value] and not any(names_in(value))
    found = (likeness(text, path) for text in literals)
    return next((what for what in found if what and (what != BY_NAME or is_whole)), None)


def _literals(text: str) -> list[str]:
    """What stands in a text beside its placeholders."""
    if not has_marker(text):
        return [text]
    try:
        return [part for part in split(text) if isinstance(part, str)]
    except InvalidInput:
        return [text]


# What several replays of a new baseline teach, and whether what is written accepts all of them.


@frozen
class CaptureLesson:
    """The output as it is to be stored; what varies, its values masked; what nothing may stand for; and what
    looks like an id and was the same each time, which stands in the output as it came."""

    output: Json
    volatile: tuple[Volatile, ...] = ()
    refusals: tuple[UnlearnablePlace, ...] = ()
    lookalikes: tuple[Volatile, ...] = ()

    def with_lookalikes(self) -> "CaptureLesson":
        """With placeholders for those as well."""
        texts = {place: one.proposal.text for one in self.lookalikes for place in one.places}
        output = with_values(self.output, texts)
        return CaptureLesson(output, (*self.volatile, *self.lookalikes), self.refusals)


def ordered_singles(output: Json, is_exact: bool) -> list[str]:
    """Arrays of one element that would describe arrays of any length, if no rule kept them as they are."""
    return [] if is_exact else [render(path) for path in arrays_of_one(output)]


MOST_VALUES = 3
"""Of each place, those that are told as examples."""


def learn(
    project: Project,
    draft: Baseline,
    first: Matcher,
    accepted: Comparison,
    observations: Sequence[Observation],
    write: Write,
    *,
    is_new: bool,
    now: float,
) -> CaptureLesson:
    """What the replays have to say of a draft that holds the output of the first; `first` is the draft
    compiled, and `accepted` how the first of them compares. A file that is there already keeps its rules, so
    that an array there cannot be told to stay as long as it is."""
    words = project.words_of(draft)
    comparisons = [first.compare(observation) for observation in observations[1:]]
    outputs = [observation.output for observation in observations]
    volatile: list[Volatile] = []
    refusals: list[UnlearnablePlace] = []
    if not all(comparison.passed for comparison in comparisons):
        kind = kind_of(draft.current)
        look = ReplayView(
            outcomes=kind.outcomes(draft.current),
            wholes=kind.answers(draft.current),
            numeric=first.type == "numeric",
            agreed=_Differing(comparisons).agreed,
            arrays=first.arrays,
            write=write,
            words=words,
        )
        lesson = learn_places(outputs, look)
        volatile, refusals = list(lesson.volatile), list(lesson.refusals)
    steady, same = _Steady(draft, first, outputs, volatile, refusals, now, words), []
    wholes = ((), *kind_of(draft.current).answers(draft.current))
    of_now = moments_of_now(steady.of_now, now, write, words)
    volatile += [
        one
        for one in of_now
        if one.places[0] not in wholes and steady.keeps_variables(one) and steady.compared(one.places)
    ]
    volatile += _made(draft, outputs, steady, volatile, now, write, words)
    volatile += _of_process(outputs, steady, volatile, words)
    volatile = linked(volatile, outputs, _link_view(observations, steady, write, words))
    if steady.ids:
        taken = {place for one in volatile for place in one.places}
        left = {at: value for at, value in steady.ids.items() if at not in taken and at not in wholes}
        same = list(lookalikes(left, steady.compared, write, words))
    texts = {place: one.proposal.text for one in volatile for place in one.places}
    output = with_values(_stored(draft), texts)
    matcher = _compiled(project, draft, output, is_new) if texts or refusals else first
    if not is_new:
        refusals += _templates(output, _stored(draft), matcher)
    if len(observations) > 1 or texts:
        if matcher is first:
            settled = [accepted, *comparisons]
        else:
            settled = [matcher.compare(observation) for observation in observations]
        refusals += _unresolved(settled, refusals)
    knowing = project.redactor.knowing(steady.outputs) if volatile or same else project.redactor
    return CaptureLesson(output, shown(volatile, knowing), tuple(refusals), shown(same, knowing))


def shown(found: Iterable[Volatile], knowing: Redactor) -> tuple[Volatile, ...]:
    """As they may be told: of the values the first few, and one more where there are more, masked. `knowing`:
    what else is a secret in the outputs."""
    mask, most = knowing.mask_value, MOST_VALUES + 1
    return tuple(
        replace(one, values=tuple(mask(value, one.places[0]) for value in one.values[:most])) for one in found
    )


def _made(
    draft: Baseline,
    outputs: Sequence[Json],
    steady: "_Steady",
    known: Sequence[Volatile],
    now: float,
    write: Write,
    words: Words,
) -> list[Volatile]:
    """What a write has made that was asked once, where the stored output has it as it came."""
    kind = kind_of(draft.current)
    if len(outputs) > 1 or not kind.writes(draft.current):
        return []
    taken, wholes = {place for one in known for place in one.places}, kind.answers(draft.current)
    found = [
        one
        for one in made_by_write(outputs[0], draft.current.input, now, write, words)
        if one.places[0] not in taken and _is_literal(_stored(draft), one.places[0], one.values[0])
        if one.places[0] not in wholes or not is_alone(one.proposal.text)
    ]
    compared = steady.compared([one.places[0] for one in found]) if found else ()
    return [one for one in found if one.places[0] in compared]


def _of_process(
    outputs: Sequence[Json], steady: "_Steady", known: Sequence[Volatile], words: Words
) -> list[Volatile]:
    """The numbers that were the same, and say by their name what a process uses or does, beside others that
    were not: it will not use as much after its next start."""
    if len(outputs) == 1:
        return []
    texts = {place: one.proposal.text for one in known for place in one.places}
    output = with_values(outputs[0], texts)
    found: list[Volatile] = []
    for above in {place[:-1] for place in texts if place}:
        for key, value in children(value_at(output, above)):
            path = (*above, key)
            is_leaf = path not in texts and not isinstance(value, bool | dict | list) and is_amount(value)
            if is_leaf and tells_of_process(path, output):
                best = narrowest([value], words=words)[0]
                reason = f"{best.reason}, which its name counts beside others that vary"
                proposal = PlaceholderProposal(best.text, reason)
                if not (best.says_little and isinstance(value, str)):
                    found.append(Volatile(path, (path,), (value,), proposal))
    places = steady.literal([one.places[0] for one in found]) if found else ()
    return [one for one in found if one.places[0] in places]


def counted_once(output: Json) -> Iterator[Path]:
    """The places whose name says that their number counts what the service does."""
    for path, value in places(output):
        is_leaf = not isinstance(value, bool | dict | list)
        if is_leaf and is_amount(value) and is_counted(named(path, output), value):
            yield path


def _link_view(
    observations: Sequence[Observation], steady: "_Steady", write: Write, words: Words
) -> LinkView:
    """A flow that writes, and that was replayed once, has made what it saves."""
    saved = [observation.saved for observation in observations]
    return LinkView(saved, len(saved) == 1 and bool(saved[0]), steady.literal, write, words)


class _Steady:
    """The values that were the same in all replays, where the stored output has them as they are."""

    def __init__(
        self,
        draft: Baseline,
        matcher: Matcher,
        outputs: Sequence[Json],
        volatile: Sequence[Volatile],
        refusals: Sequence[UnlearnablePlace],
        now: float,
        words: Words,
    ):
        known = {place for one in volatile for place in one.places} | {one.path for one in refusals}
        self._draft = draft
        self._matcher = matcher
        self._output = outputs[0]
        self._is_plain: bool | None = None
        stored = _stored(draft)
        steadiness = Steadiness(outputs, known)
        self.outputs = steadiness.outputs
        everywhere = steadiness.is_everywhere and stored is outputs[0]  # most captures
        templating = Templating(words.scope)

        def stands(path: Path, value: Json, may_name: bool = False) -> bool:
            if everywhere:
                literal = not (isinstance(value, str) and has_marker(value))
            else:
                literal = steadiness.is_same(path, value) and (
                    _is_literal(stored, path, value)
                    or (may_name and _is_named_in(stored, path, value, templating))
                )
            return literal and not _is_of_bytes(stored, path)

        found = volatile_values(outputs[0], now)
        self.of_now = [one for one in found.of_now if stands(*one, may_name=True)]
        self.ids = {path: value for path, value in found.ids if stands(path, value)}

    def keeps_variables(self, one: Volatile) -> bool:
        """Whether what is learnt of a place still names the variables whose values are in it."""
        known = _known_at(_stored(self._draft), one.places[0])
        named = (
            [token.text for token in tokens_in(known)] if isinstance(known, str) and has_marker(known) else ()
        )
        return all(text in one.proposal.text for text in named)

    def literal(self, paths: Collection[Path]) -> set[Path]:
        """Those that are compared and stored as they came, and are not all that was answered."""
        stored, output = _stored(self._draft), self._output
        wholes = kind_of(self._draft.current).answers(self._draft.current)
        kept = [path for path in paths if _is_literal(stored, path, value_at(output, path))]
        return self.compared([path for path in kept if path and path not in wholes])

    def compared(self, paths: Sequence[Path]) -> set[Path]:
        """Those at which another value would be told as a difference."""
        if self._is_plain is None:
            self._is_plain = self._matcher.is_plain
        if self._is_plain:
            return set(paths)
        changed = with_values(self._output, dict.fromkeys(paths, _NO_VALUE))
        differences = self._matcher.compare(Observation(changed, 0.0)).differences
        return {difference.at for difference in differences} & set(paths)


_NO_VALUE = "\0"


def _is_of_bytes(stored: Json, path: Path) -> bool:
    """Whether it is the hash that stands for a body of bytes: another one is another body."""
    return path[-1:] == ("sha256",) and value_at(stored, path[:-1]).keys() == {"sha256", "size"}


def _known_at(stored: Json, path: Path) -> Json:
    try:
        return value_at(stored, path)
    except (LookupError, TypeError):
        return ABSENT


def _is_named_in(stored: Json, path: Path, value: Json, templating: Templating) -> bool:
    """Whether a text stands there as it came, but for its escapes and the names of variables in it."""
    known = _known_at(stored, path)
    return isinstance(known, str) and templating.expanded(known) == value


def _is_literal(stored: Json, path: Path, value: Json) -> bool:
    known = _known_at(stored, path)
    return known == value and not (isinstance(known, str) and has_marker(known))


def _stored(draft: Baseline) -> Json:
    return draft.baseline.output if draft.baseline else None


def _compiled(project: Project, draft: Baseline, output: Json, is_new: bool) -> Matcher:
    """The baseline as it will be read."""
    rules = draft.comparison
    if is_new:
        singles: dict[str, ArrayMode] = dict.fromkeys(
            ordered_singles(output, rules.type == "exact"), "ordered"
        )
        rules = replace(rules, arrays={**singles, **rules.arrays})
    written = replace(draft, baseline=Known(output=output), comparison=rules)
    return compile_baseline(written, project.words_of(draft))


class _Differing:
    """The places where replays differ by the rules of the baseline, and those on the way to them."""

    def __init__(self, comparisons: Sequence[Comparison]):
        differences = [difference for one in comparisons for difference in one.differences]
        self._all_kept = all(one.count == len(one.differences) for one in comparisons)
        self._at = {difference.at for difference in differences}
        self._ways = {at[:end] for at in self._at for end in range(len(at))}

    def agreed(self, path: Path) -> bool:
        above = any(path[:end] in self._at for end in range(len(path) + 1))
        return self._all_kept and not above and path not in self._ways


def _templates(output: Json, before: Json, matcher: Matcher) -> Iterator[UnlearnablePlace]:
    known = set(arrays_of_one(before))
    for path in arrays_of_one(output):
        if path not in known and matcher.arrays.get(path) in (None, "each"):
            what = "its one element, with a placeholder in it, would describe arrays of any length"
            hint = f"add `arrays: {{{render(path)}: ordered}}` to its `comparison:`"
            yield UnlearnablePlace(path, "template", what, hint)


def _unresolved(
    comparisons: Sequence[Comparison], refusals: Sequence[UnlearnablePlace]
) -> list[UnlearnablePlace]:
    """What the baseline would not accept of what was seen, beside what is refused anyway."""
    refused = {refusal.path for refusal in refusals}
    found: dict[Path, UnlearnablePlace] = {}
    for comparison in comparisons:
        for difference in comparison.differences:
            path = difference.at
            if not any(path[: len(one)] == one or one[: len(path)] == path for one in refused):
                what = "no placeholder was found that the rules accept in every replay"
                found.setdefault(
                    path, UnlearnablePlace(path, "unresolved", what, "write a rule for it by hand")
                )
    return list(found.values())
