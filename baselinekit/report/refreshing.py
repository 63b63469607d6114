"""What a refresh would change, for the person who approves it, and files before and after."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

from baselinekit.errors import Problem
from baselinekit.escape import escape_controls, one_line
from baselinekit.model.changes import (
    RISKS,
    Change,
    Group,
    Member,
    RefreshPlan,
    RefreshProposal,
    Rewritten,
    Risk,
)
from baselinekit.model.values import ABSENT, Json
from baselinekit.placeholders.grammar import tokens_in
from baselinekit.report.differences import DiffLine, Tone, hunks, pair, unified
from baselinekit.report.grouping import SHOWN_ONCE, name_baselines, variant_lines
from baselinekit.report.values import cut_line, page, without_absent
from baselinekit.report.wording import Style, cut_to_width, format_lines
from baselinekit.values.paths import render
from baselinekit.values.texts import count_noun

FORMAT = "baselinekit.refresh/1"
MOST_PLANS = 40
MOST_CHANGES = 20

_MOST_LINES = 20
_LONGEST = 40
_COLOURS: dict[Risk, str] = {"low": "dim", "medium": "yellow", "high": "bold red"}
_TONE_COLOURS: dict[Tone, str] = {"gone": "red", "came": "green", "dim": "dim"}
_SIGN_COLOURS = {"-": "red", "+": "green", "@": "cyan"}
_KINDS = {"value": "another value", "retyped": "another type", "order": "in another order"}
_MOST_DIFF_LINES = 10_000

Accepted = Sequence[Collection[int]]
"""For each plan the numbers of the selected changes."""


def format_refresh(proposal: RefreshProposal, accepted: Accepted, style: Style) -> str:
    """Format all that would change, in the order of the baselines; the same changes of many baselines come
    first."""
    lines: list[str] = []
    shared: set[tuple[int, int]] = set()
    for group in () if style.verbose else proposal.groups:
        members = [(n, number) for n, number in group.members if number in accepted[n]]
        if len({n for n, _ in members}) >= SHOWN_ONCE:
            shared.update(members)
            lines += [*group_lines(group, members, proposal.plans, style), ""]
    shown_count = 0
    group_of = {member: number for number, group in enumerate(proposal.groups) for member in group.members}
    for n, plan in enumerate(proposal.plans):
        own_changes = [c for c in plan.changes if c.number in accepted[n] and (n, c.number) not in shared]
        if not own_changes and not (plan.notes and accepted[n]) and not plan.ruled:
            continue
        shown_count += 1
        if style.verbose or shown_count <= MOST_PLANS:
            kinds = [group_of.get((n, c.number), -1) for c in own_changes]
            lines += [*plan_lines(plan, own_changes, () if style.verbose else kinds, style), ""]
    if shown_count > MOST_PLANS and not style.verbose:
        hidden = count_noun(shown_count - MOST_PLANS, "more baseline")
        lines += [style.paint(f"… and {hidden} (-v shows them)", "dim"), ""]
    return format_lines(lines)


def count_changes(plans: Sequence[RefreshPlan], accepted: Accepted) -> str:
    """Return `12 changes in 3 baselines: 1 high, 11 low`."""
    risks = [c.risk for n, plan in enumerate(plans) for c in plan.changes if c.number in accepted[n]]
    counted = ", ".join(f"{risks.count(risk):,} {risk}" for risk in reversed(RISKS) if risk in risks)
    number, rules = sum(map(bool, accepted)), sum(len(plan.ruled) for plan in plans)
    changes = f"{count_noun(len(risks), 'change')} in {count_noun(number, 'baseline')}: {counted} risk"
    if not rules:
        return changes
    ruled = (
        f"{count_noun(rules, 'rule')} in {count_noun(sum(bool(plan.ruled) for plan in plans), 'baseline')}"
    )
    return f"{ruled}, {changes}" if risks else ruled


def change_lines(change: Change, style: Style, file: str = "") -> Iterator[str]:
    """Yield one change: its place, kind and risk; then both sides, and the placeholders that would be
    lost."""
    yield _heading(format_path(change), change, change.risk, style)
    yield from (f"  {line}" for line in side_lines(change, style))
    yield from lost_lines(change, style, file)
    if change.note:
        yield style.paint(f"    ({cut_line(change.note, 200)})", "dim")
    yield from blocked_lines([change], style)


def _heading(path: str, change: Change, risk: Risk, style: Style, places: str = "") -> str:
    kind = f"{_KINDS.get(change.kind, change.kind)}{places}"
    return f"  {style.paint(one_line(path), 'bold')}  {kind}, {style.paint(f'{risk} risk', _COLOURS[risk])}"


def lost_lines(change: Change, style: Style, file: str) -> Iterator[str]:
    for lost in change.lost:
        place = f"{lost.file or file}:{lost.line}" if lost.line else lost.file or file
        place_text = one_line(render(lost.path)) + (f" ({one_line(place)})" if place else "")
        yield f"    {style.paint('loses', 'bold red')} {one_line(lost.text)} at {place_text}"


def blocked_lines(changes: Sequence[Change], style: Style) -> Iterator[str]:
    blocked = next((change.blocked for change in changes if change.blocked), None)
    if blocked:
        yield f"    {style.paint('cannot be approved', 'bold red')} {cut_line(blocked.message)}"


def side_lines(change: Change, style: Style) -> Iterator[str]:
    """Yield the old and the new value."""
    for sign, text in _sides(change):
        yield f"  {style.paint(text if sign == ' ' else f'{sign} {text}', _SIGN_COLOURS.get(sign, 'dim'))}"


def diff_lines(change: Change) -> tuple[DiffLine, ...]:
    tones: dict[str, Tone] = {"-": "gone", "+": "came"}
    return tuple(
        DiffLine(tones[sign], f"{sign} {text}") if sign in tones else DiffLine("dim", text)
        for sign, text in _sides(change)
    )


def format_path(change: Change) -> str:
    """Return the path of a change, as it can be typed."""
    return render(("baseline", *change.path)) if change.part == "observed" else render(change.path)


def highest_risk(changes: Iterable[Change]) -> Risk:
    return max((change.risk for change in changes), key=RISKS.index)


def _sides(change: Change) -> Iterator[tuple[str, str]]:
    before, after = change.before, change.after
    if isinstance(before, str) and isinstance(after, str) and ("\n" in before or "\n" in after):
        lines = unified(before, after)
        for line in lines[:_MOST_LINES]:
            yield (line[0], cut_line(line[2:])) if line[0] in "-+" else (" ", cut_line(line))
        if len(lines) > _MOST_LINES:
            yield " ", f"… and {count_noun(len(lines) - _MOST_LINES, 'more line')}"
        return
    old, new = pair(before, after, with_types=change.kind == "retyped")
    if before is not ABSENT:
        yield "-", old
    if after is not ABSENT:  # what would be written: a placeholder stays a placeholder here
        yield "+", pair(after, after)[0] if next(tokens_in(after), None) else new


def plan_lines(
    plan: RefreshPlan, changes: Sequence[Change], kinds: Sequence[int], style: Style
) -> Iterator[str]:
    """Yield the lines of one baseline. `kinds`: the group of each change, so that a key missing in every row
    is shown once and hides nothing else; if empty, every change is shown."""
    baseline, size = plan.baseline, len(plan.changes)
    counted = count_noun(len(plan.ruled), "rule") if plan.ruled else count_noun(size, "change")
    file = style.paint(one_line(baseline.source.file), "cyan")
    shown_here = f", {len(changes)} of them here" if len(changes) < size and not plan.ruled else ""
    yield f"{style.paint(one_line(baseline.id), 'bold')}   {file}   {counted}{shown_here}"
    yield from (f"  {cut_line(line)}" for line in plan.ruled)
    bundles = _bundles(changes, kinds)
    most = MOST_CHANGES if kinds else len(bundles)
    for bundle in bundles[:most]:
        if len(bundle) == 1:
            yield from change_lines(bundle[0], style, baseline.source.file)
        else:
            yield from bundle_lines(bundle, style, baseline.source.file)
    hidden_count = sum(map(len, bundles[most:]))
    if hidden_count:
        yield style.paint(f"  … and {count_noun(hidden_count, 'more change')} (-v shows them)", "dim")
    for note in plan.notes:
        yield f"  {style.paint('note', 'yellow')} {cut_line(note)}"


def group_lines(
    group: Group, members: Sequence[tuple[int, int]], plans: Sequence[RefreshPlan], style: Style
) -> Iterator[str]:
    """Yield the same change in many baselines: how often each pair of values occurs, and where."""
    ids = list(dict.fromkeys(plans[n].baseline.id for n, _ in members))
    changes = [plans[n].changes[number] for n, number in members]
    yield style.paint(f"the same change in {len(ids):,} baselines", "bold")
    yield _heading(group.path, changes[0], highest_risk(changes), style)
    for line in variant_lines([diff_lines(change) for change in changes], " (-v shows them)"):
        yield f"    {style.paint(line.text, _TONE_COLOURS[line.tone])}"
    lost = sum(len(change.lost) for change in changes)
    if lost:
        example = one_line(next(change.lost[0] for change in changes if change.lost).text)
        yield f"    {style.paint('loses', 'bold red')} {count_noun(lost, 'placeholder')}, as {example}"
    yield from blocked_lines(changes, style)
    yield style.paint(f"    {name_baselines(ids)}", "cyan")


def _bundles(changes: Sequence[Change], kinds: Sequence[int]) -> list[list[Change]]:
    """Return the changes in order; those of one kind are bundled if there are enough of them and each fits on
    one line. Keys that came or went in two rows are enough, as when one was renamed."""
    if not kinds:
        return [[change] for change in changes]
    kind_of: dict[int, int] = {}
    for change, kind in zip(changes, kinds, strict=True):
        is_long = any(isinstance(side, str) and "\n" in side for side in (change.before, change.after))
        kind_of[change.number] = -1 if change.note or is_long else kind
    counts = Counter(kind_of.values())
    bundles: dict[tuple[int, int], list[Change]] = {}
    for change in changes:
        kind = kind_of[change.number]
        is_key = change.kind in ("added", "removed") and change.path and isinstance(change.path[-1], str)
        is_alone = kind < 0 or counts[kind] < (2 if is_key else SHOWN_ONCE)
        bundles.setdefault((kind, change.number if is_alone else -1), []).append(change)
    return list(bundles.values())


def bundle_lines(changes: Sequence[Change], style: Style, file: str) -> Iterator[str]:
    """Yield the same change in many rows: one line for each, and the placeholders that would be lost."""
    steps = ("[*]" if isinstance(step, int) else f".{render((step,))}" for step in changes[0].path)
    path = "".join(steps).removeprefix(".")
    yield _heading(path, changes[0], highest_risk(changes), style, f" in {len(changes):,} places")
    for change in changes[:_MOST_LINES]:
        sides = [(sign, cut_to_width(text, _LONGEST)) for sign, text in _sides(change)]
        parts = [
            style.paint(text if len(sides) > 1 else f"{sign} {text}", _SIGN_COLOURS[sign])
            for sign, text in sides
        ]
        yield f"    {one_line(format_path(change))}  {' -> '.join(parts)}"
    if len(changes) > _MOST_LINES:
        yield style.paint(f"    … and {len(changes) - _MOST_LINES:,} more (-v shows them)", "dim")
    for change in changes:
        yield from lost_lines(change, style, file)
    yield from blocked_lines(changes, style)


def format_refresh_json(
    proposal: RefreshProposal, accepted: Accepted, done: Collection[str], reasons: dict[str, Json]
) -> str:
    """Return the refresh as JSON for programs. `done`: the ids that were refreshed; `reasons`: why others
    were not, by id."""
    document: dict[str, Json] = {
        "format": FORMAT,
        "baselines": [
            {
                "id": plan.baseline.id,
                "file": plan.baseline.source.file,
                "captured_at": plan.seen.captured_at,
                "from": plan.seen.origin,
                "refreshed": plan.baseline.id in done,
                "why_not": reasons.get(plan.baseline.id),
                "changes": [
                    change_document(change)
                    | {
                        "accepted": change.number in numbers,
                        "loses": lost_document(change),
                        "blocked": change.blocked.message if change.blocked else None,
                        "note": change.note or None,
                    }
                    for change in plan.changes
                ],
                "notes": list(plan.notes),
                **({"rules": list(plan.ruled)} if plan.ruled else {}),
            }
            for plan, numbers in zip(proposal.plans, accepted, strict=True)
        ],
        "groups": [
            group_document(group)
            | {
                "baselines": len({n for n, _ in group.members}),
                "changes": name_members(proposal, group.members),
            }
            for group in proposal.groups
        ],
        "refused": refused_document(proposal),
        "passing": list(proposal.passing),
    }
    return page(document)


def change_document(change: Change) -> dict[str, Json]:
    sides = {"before": change.before, "after": change.after}
    facts = {"number": change.number, "path": format_path(change), "kind": change.kind, "risk": change.risk}
    return facts | without_absent(sides)


def lost_document(change: Change) -> list[Json]:
    return [
        {"path": render(lost.path), "text": lost.text, "file": lost.file, "line": lost.line}
        for lost in change.lost
    ]


def group_document(group: Group) -> dict[str, Json]:
    return {"path": group.path, "kind": group.kind, "risk": group.risk}


def name_members(proposal: RefreshProposal, members: Iterable[Member]) -> list[Json]:
    return [{"id": proposal.plans[n].baseline.id, "number": number} for n, number in members]


def problem_document(problem: Problem) -> dict[str, Json]:
    return {"code": problem.code, "what": problem.message, "mend": problem.hint}


def refused_document(proposal: RefreshProposal) -> list[Json]:
    return [
        {"id": refusal.id, "file": refusal.file, **problem_document(refusal.problem)}
        for refusal in proposal.refusals
    ]


def unified_file(rewritten: Rewritten) -> list[str]:
    """Return the lines of the diff, which git can apply; none if nothing differs."""
    lines: list[str] = []
    for (o1, o2, n1, n2), parts in hunks(_lines(rewritten.before), _lines(rewritten.after)):
        lines.append(f"@@ -{_range(o1, o2)} +{_range(n1, n2)} @@")
        for part in parts:
            lines += [sign + line for sign, texts in zip(" -+", part, strict=True) for line in texts]
    before = f"a/{rewritten.file}" if rewritten.before else "/dev/null"
    lines = [f"--- {before}", f"+++ b/{rewritten.file}", *lines] if lines else []
    return [line for text in lines for line in text.split("\n")]


def _range(start: int, end: int) -> str:
    size = end - start
    return f"{start + 1 if size else start}" + ("" if size == 1 else f",{size}")


def _lines(text: str) -> list[str]:
    """Return the lines of a text, which only a line feed ends, with git's note on a last line without one."""
    lines = text.split("\n")
    return [*lines[:-1], *([f"{lines[-1]}\n\\ No newline at end of file"] if lines[-1] else [])]


def format_file_diff(rewritten: Rewritten, style: Style) -> str:
    """Format the diff for a screen, in colours and without control characters, up to a limit. A diff that was
    cut is no longer a patch, and `git apply` says so."""
    lines = unified_file(rewritten)
    hidden_count = len(lines) - _MOST_DIFF_LINES
    if hidden_count > 0:
        lines[_MOST_DIFF_LINES:] = [f"… and {count_noun(hidden_count, 'more line')} of {rewritten.file}"]
    painted = [style.paint(escape_controls(line), "bold") for line in lines[:2]]
    painted += [style.paint(escape_controls(line), _SIGN_COLOURS.get(line[:1], "")) for line in lines[2:]]
    return "".join(f"{line}\n" for line in painted)
