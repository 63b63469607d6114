"""What `refresh` and `review` show the person who approves changes: what would change in each baseline, files
before and after, and a question at a time with the keys that answer it.

A screen has no more rows than the terminal: the keys at its end are always visible."""

import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from baselinekit.errors import Problem
from baselinekit.escape import escape_ci_commands, escape_controls, one_line
from baselinekit.model import changes
from baselinekit.model.changes import RISKS, Change, Member, RefreshPlan, RefreshProposal, Risk, Scene, Verb
from baselinekit.model.values import ABSENT, Json
from baselinekit.report import differences, wording
from baselinekit.report.blocks import DiffLine
from baselinekit.report.next_commands import command_line
from baselinekit.report.values import cut_line, page, short, without_absent
from baselinekit.report.wording import Style, cut_to_width, first_of, format_lines
from baselinekit.values.paths import render
from baselinekit.values.texts import count_noun, list_first

_MOST_PLANS = 40
_MOST_LINES = 20
_LONGEST = 40
_RISK_COLOURS: dict[Risk, str] = {"low": "dim", "medium": "yellow", "high": "bold red"}
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
        if len({n for n, _ in members}) >= differences.SHOWN_ONCE:
            shared.update(members)
            lines += [*group_lines(group, members, proposal.plans, style), ""]
    shown_count = 0
    group_of = {member: number for number, group in enumerate(proposal.groups) for member in group.members}
    for n, plan in enumerate(proposal.plans):
        own_changes = [c for c in plan.changes if c.number in accepted[n] and (n, c.number) not in shared]
        if not own_changes and not (plan.notes and accepted[n]) and not plan.ruled:
            continue
        shown_count += 1
        if style.verbose or shown_count <= _MOST_PLANS:
            kinds = [group_of.get((n, c.number), -1) for c in own_changes]
            lines += [*plan_lines(plan, own_changes, () if style.verbose else kinds, style), ""]
    if shown_count > _MOST_PLANS and not style.verbose:
        hidden = count_noun(shown_count - _MOST_PLANS, "more baseline")
        lines += [style.paint(f"… and {hidden} (-v shows them)", "dim"), ""]
    return format_lines(lines)


def count_changes(plans: Sequence[RefreshPlan], accepted: Accepted) -> str:
    """Return `12 changes in 3 baselines: 1 high, 11 low`."""
    risks = [c.risk for n, plan in enumerate(plans) for c in plan.changes if c.number in accepted[n]]
    counted = ", ".join(f"{risks.count(risk):,} {risk}" for risk in reversed(RISKS) if risk in risks)
    rules = [len(plan.ruled) for plan in plans if plan.ruled]
    parts = [f"{count_noun(sum(rules), 'rule')} in {count_noun(len(rules), 'baseline')}"] if rules else []
    if risks or not rules:
        number = count_noun(sum(map(bool, accepted)), "baseline")
        parts.append(f"{count_noun(len(risks), 'change')} in {number}: {counted} risk")
    return ", ".join(parts)


def change_lines(change: Change, style: Style, file: str = "") -> Iterator[str]:
    """Yield one change: its place, kind and risk; then both sides, and the placeholders that would be
    lost."""
    yield _heading(format_path(change), change, change.risk, style)
    yield from (f"    {style.paint(line.text, line.tone)}" for line in sides_of(change))
    yield from lost_lines(change, style, file)
    if change.note:
        yield style.paint(f"    ({cut_line(change.note, 200)})", "dim")
    yield from blocked_lines([change], style)


def _heading(path: str, change: Change, risk: Risk, style: Style, places: str = "") -> str:
    kind, painted = _KINDS.get(change.kind, change.kind), style.paint(f"{risk} risk", _RISK_COLOURS[risk])
    return f"  {style.paint(one_line(path), 'bold')}  {kind}{places}, {painted}"


def lost_lines(change: Change, style: Style, file: str) -> Iterator[str]:
    for lost in change.lost:
        place = f"{lost.file or file}:{lost.line}" if lost.line else lost.file or file
        place_text = one_line(render(lost.path)) + (f" ({one_line(place)})" if place else "")
        yield f"    {style.paint('loses', 'bold red')} {one_line(lost.text)} at {place_text}"


def blocked_lines(changes: Sequence[Change], style: Style) -> Iterator[str]:
    blocked = next((change.blocked for change in changes if change.blocked), None)
    if blocked:
        yield f"    {style.paint('cannot be approved', 'bold red')} {cut_line(blocked.message)}"


def sides_of(change: Change) -> tuple[DiffLine, ...]:
    """Return what is stored and what would be written, where a placeholder stays a placeholder."""
    is_retyped = change.kind == "retyped"
    return differences.side_lines(change.before, change.after, is_retyped, _MOST_LINES, are_templates=True)


def format_path(change: Change) -> str:
    """Return the path of a change, as it can be typed."""
    return render(("baseline", *change.path)) if change.part == "observed" else render(change.path)


def highest_risk(changes: Iterable[Change]) -> Risk:
    return max((change.risk for change in changes), key=RISKS.index)


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
    most = _MOST_LINES if kinds else len(bundles)
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
    group: changes.Group, members: Sequence[tuple[int, int]], plans: Sequence[RefreshPlan], style: Style
) -> Iterator[str]:
    """Yield the same change in many baselines: how often each pair of values occurs, and where."""
    ids = list(dict.fromkeys(plans[n].baseline.id for n, _ in members))
    changes = [plans[n].changes[number] for n, number in members]
    yield style.paint(f"the same change in {len(ids):,} baselines", "bold")
    yield _heading(group.path, changes[0], highest_risk(changes), style)
    for line in differences.variant_lines([sides_of(change) for change in changes], " (-v shows them)"):
        yield f"    {style.paint(line.text, line.tone)}"
    lost = sum(len(change.lost) for change in changes)
    if lost:
        example = one_line(next(change.lost[0] for change in changes if change.lost).text)
        yield f"    {style.paint('loses', 'bold red')} {count_noun(lost, 'placeholder')}, as {example}"
    yield from blocked_lines(changes, style)
    yield style.paint(f"    {differences.name_baselines(ids)}", "cyan")


def _bundles(changes: Sequence[Change], kinds: Sequence[int]) -> list[list[Change]]:
    """Return the changes in order; those of one kind are bundled if there are enough of them and each fits on
    one line. Keys that came or went in two rows are enough, as when one was renamed."""
    kind_of = {
        change.number: kind
        for change, kind in zip(changes, kinds, strict=bool(kinds))
        if not change.note
        and not any(isinstance(side, str) and "\n" in side for side in (change.before, change.after))
    }
    counts = Counter(kind_of.values())
    bundles: dict[tuple[int, int], list[Change]] = {}
    for change in changes:
        kind = kind_of.get(change.number, -1)
        is_key = change.kind in ("added", "removed") and change.path and isinstance(change.path[-1], str)
        is_alone = kind < 0 or counts[kind] < (2 if is_key else differences.SHOWN_ONCE)
        bundles.setdefault((kind, change.number if is_alone else -1), []).append(change)
    return list(bundles.values())


def bundle_lines(changes: Sequence[Change], style: Style, file: str) -> Iterator[str]:
    """Yield the same change in many rows: one line for each, and the placeholders that would be lost."""
    steps = ("[*]" if isinstance(step, int) else f".{render((step,))}" for step in changes[0].path)
    path = "".join(steps).removeprefix(".")
    yield _heading(path, changes[0], highest_risk(changes), style, f" in {len(changes):,} places")
    for change in changes[:_MOST_LINES]:
        sides = sides_of(change)
        start = 2 * (len(sides) > 1)
        parts = [style.paint(cut_to_width(line.text[start:], _LONGEST), line.tone) for line in sides]
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
    baselines: list[Json] = [
        {
            "id": plan.baseline.id,
            "file": plan.baseline.source.file,
            "captured_at": plan.seen.captured_at,
            "from": plan.seen.origin,
            "refreshed": plan.baseline.id in done,
            "why_not": reasons.get(plan.baseline.id),
            "changes": [
                change_document(change, accepted=change.number in numbers)
                | {"blocked": change.blocked.message if change.blocked else None, "note": change.note or None}
                for change in plan.changes
            ],
            "notes": list(plan.notes),
            **({"rules": list(plan.ruled)} if plan.ruled else {}),
        }
        for plan, numbers in zip(proposal.plans, accepted, strict=True)
    ]
    groups = [
        group_document(group)
        | {"baselines": len({n for n, _ in group.members}), "changes": name_members(proposal, group.members)}
        for group in proposal.groups
    ]
    head = {"format": "baselinekit.refresh/1", "baselines": baselines, "groups": groups}
    return page(head | {"refused": refused_document(proposal), "passing": list(proposal.passing)})


def change_document(change: Change, **facts: Json) -> dict[str, Json]:
    lost = [
        {"path": render(one.path), "text": one.text, "file": one.file, "line": one.line}
        for one in change.lost
    ]
    return {
        "number": change.number,
        "path": format_path(change),
        "kind": change.kind,
        "risk": change.risk,
        **without_absent({"before": change.before, "after": change.after}),
        **facts,
        "loses": lost,
    }


def group_document(group: changes.Group) -> dict[str, Json]:
    return {"path": group.path, "kind": group.kind, "risk": group.risk}


def name_members(proposal: RefreshProposal, members: Iterable[Member]) -> list[Json]:
    return [{"id": proposal.plans[n].baseline.id, "number": number} for n, number in members]


def problem_document(problem: Problem) -> dict[str, Json]:
    return {"code": problem.code, "what": problem.message, "mend": problem.hint}


def refused_document(proposal: RefreshProposal) -> list[Json]:
    refusals = proposal.refusals
    return [{"id": one.id, "file": one.file, **problem_document(one.problem)} for one in refusals]


def unified_file(rewritten: changes.Rewritten) -> list[str]:
    """Return the lines of the diff, which git can apply; none if nothing differs."""
    lines: list[str] = []
    for (o1, o2, n1, n2), parts in differences.hunks(_lines(rewritten.before), _lines(rewritten.after)):
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


def format_file_diff(rewritten: changes.Rewritten, style: Style) -> str:
    """Format the diff for a screen, in colours and without control characters, up to a limit. `git apply`
    refuses a diff that was cut."""
    lines = unified_file(rewritten)
    hidden_count = len(lines) - _MOST_DIFF_LINES
    if hidden_count > 0:
        lines[_MOST_DIFF_LINES:] = [f"… and {count_noun(hidden_count, 'more line')} of {rewritten.file}"]
    painted = [style.paint(escape_controls(line), "bold") for line in lines[:2]]
    painted += [style.paint(escape_controls(line), _SIGN_COLOURS.get(line[:1], "")) for line in lines[2:]]
    return "".join(f"{line}\n" for line in painted)


# `review`: a question at a time.


DONE = dict(zip(changes.VERBS, ("accepted", "rejected", "skipped", "placeholder", "ignored"), strict=True))
_VERB_COLOURS = dict(zip(changes.VERBS, ("green", "red", "yellow", "green", "cyan"), strict=True))
_KEYS = {
    "a": "accept",
    "r": "reject",
    "s": "skip",
    "m": "one by one",
    "p": "placeholder",
    "g": "ignore",
    "d": "diff",
    "i": "info",
    "u": "undo",
    "?": "help",
    "q": "quit",
}
_KEY_OF_GROUPS = "m"
_HELP = (
    ("a", "accept: the baseline takes the new value"),
    ("r", "reject: the baseline stays as it is, and will fail again"),
    ("s", "skip: it stays pending"),
    ("A R S", "the same for all that remain (asks first)"),
    ("p", "put a placeholder there"),
    ("g", "ignore this path from now on"),
    ("m", "decide about the members of a group one by one"),
    ("d", "the diff of the file, with the values in full"),
    ("i", "recipe, capture, environment"),
    ("u", "undo the last decision"),
    ("q", "quit: asks whether to keep the decisions"),
    ("Ctrl-C", "stop: nothing is written"),
)
_SAMPLES = 3
_LEAST_ROWS = 8


def format_screen(scene: Scene, style: Style, rows: int) -> list[str]:
    """Return the lines of a question, each within the width of the terminal, and all within its rows."""
    columns = max(20, style.width - 1)
    lines: Iterable[str] = _question_lines(scene, style)
    if scene.help:
        widest = max(len(key) for key, _ in _HELP)
        lines = [f"  {style.paint(f'{key:<{widest}}', 'bold')}  {text}" for key, text in _HELP]
    body, tail = (
        [cut_to_width(line, columns) for line in part]
        for part in (("", *lines), _footer_lines(scene, style, columns))
    )
    most = max(_LEAST_ROWS, rows - 1)
    room = max(1, most - len(tail))
    if len(body) > room:
        hidden = len(body) - room + 1
        body = [*body[: room - 1], style.paint(f"  … {hidden} more lines", "dim")]
    return [escape_ci_commands(line) for line in (*body, *tail)[-most:]]


def _question_lines(scene: Scene, style: Style) -> Iterator[str]:
    if not scene.members or scene.about is None:
        yield count_verbs(scene.counts, style)
        return
    plan, change = scene.members[0]
    context = scene.about
    id = style.paint(one_line(plan.baseline.id), "bold")
    yield f"{scene.number} of {scene.of}  {id}  {style.paint(one_line(context.place), 'cyan')}"
    yield style.paint(f"  {cut_line(context.target)}", "dim")
    yield ""
    yield from change_lines(change, style, plan.baseline.source.file)
    if len(scene.members) > 1:
        yield from _other_member_lines(scene.members, style)
    for note in plan.notes:
        yield f"  {style.paint('note', 'yellow')} {cut_line(note)}"
    if scene.info:
        widest = max((len(name) for name, _ in context.facts), default=0)
        for name, text in context.facts:
            yield f"  {style.paint(f'{one_line(name):<{widest}}', 'dim')}  {cut_line(text)}"


def _other_member_lines(members: Sequence[tuple[RefreshPlan, Change]], style: Style) -> Iterator[str]:
    """Yield the other changes of the same kind: whether their values are the same, and where they are."""
    (_, first), *others = members
    ids = {plan.baseline.id for plan, _ in members}
    names = [one_line(format_path(one) if len(ids) == 1 else plan.baseline.id) for plan, one in others]
    if all((change.before, change.after) == (first.before, first.after) for _, change in others):
        yield style.paint(f"  the same in {list_first(names, _SAMPLES)} (m: one by one)", "yellow")
    else:
        yield style.paint(f"  and {len(others):,} of this kind (m: one by one)", "yellow")
        lines = [f"{name}  {_format_sides(one)}" for name, (_, one) in zip(names, others, strict=True)]
        yield from (f"    {line}" for line in first_of(lines, _SAMPLES))
    risk = highest_risk([change for _, change in members])
    if risk != first.risk:
        yield f"    {style.paint(f'{risk} risk', 'bold red')} among them"


def _format_sides(change: Change) -> str:
    if change.kind == "retyped":  # 29 and "29" would look the same
        texts: tuple[str, ...] = differences.pair(change.before, change.after, with_types=True)
    else:
        texts = tuple(short(side, 200) for side in (change.before, change.after) if side is not ABSENT)
    sign = {"added": "+ ", "removed": "- "}.get(change.kind, "")
    return sign + " -> ".join(cut_to_width(text, _LONGEST) for text in texts)


def _footer_lines(scene: Scene, style: Style, columns: int) -> Iterator[str]:
    """Yield the message about the last key, the question, and the keys."""
    yield ""
    if scene.said:
        yield style.paint(cut_line(scene.said), "yellow")
    if scene.dialog is None:
        is_group = len(scene.members) > 1
        keys = [(key, word) for key, word in _KEYS.items() if is_group or key != _KEY_OF_GROUPS]
        yield from _key_lines(keys, style, columns)
    elif scene.dialog.typed is not None:
        yield cut_line(scene.dialog.question)
        yield from _key_lines([("Enter", "take it"), ("Esc", "leave")], style, columns)
        typed = end = one_line(scene.dialog.typed)  # its end is shown, where the next character goes
        while wording.width(end) > columns - (3 if end == typed else 4):
            end = end[1:]
        yield f"> {end}" if end == typed else f"> …{end}"
    else:
        dialog = scene.dialog
        yield from wording.wrap_lines(one_line(dialog.question).split(" "), columns, " ")
        for n, offer in enumerate(dialog.offers, 1):
            text = f"{style.paint(str(n), 'bold')} {one_line(offer.text)}"
            yield f"  {text}  {style.paint(offer.reason, 'dim')}"
        keys = [("Enter", "1"), ("t", "type one"), ("Esc", "leave")] if dialog.offers else list(dialog.keys)
        yield from _key_lines(keys, style, columns)


def _key_lines(keys: Sequence[tuple[str, str]], style: Style, columns: int) -> Iterable[str]:
    """Return the keys with their words; only the keys if the words do not fit on two lines."""
    words = [f"{style.paint(key, 'bold')} {one_line(word)}" for key, word in keys]
    lines = list(wording.wrap_lines(words, columns))
    return lines if len(lines) <= 2 else [" ".join(style.paint(key, "bold") for key, _ in keys)]


def describe_decision(
    members: Sequence[tuple[RefreshPlan, Change]], decision: changes.Decision, style: Style
) -> str:
    """Describe the last decision in one line that stays on the screen."""
    plan, change = members[0]
    word = style.paint(f"{DONE[decision.verb]:<11}", _VERB_COLOURS[decision.verb])
    text = f"{one_line(decision.text)}" if decision.text else _format_sides(change)
    suffix = f" and {len(members) - 1:,} more" if len(members) > 1 else ""
    line = f"{word} {one_line(plan.baseline.id)}  {one_line(format_path(change))}  {text}{suffix}"
    return escape_ci_commands(cut_to_width(line, max(20, style.width - 1)))


def count_verbs(counts: Mapping[Verb, int], style: Style) -> str:
    """Return `3 accepted, 1 rejected`."""
    counted = [style.paint(f"{n:,} {DONE[verb]}", _VERB_COLOURS[verb]) for verb, n in counts.items() if n]
    return ", ".join(counted) or "nothing was decided"


def format_pending(
    proposal: RefreshProposal, style: Style, again: Sequence[str] = (), operator: Sequence[str] = ()
) -> str:
    """Format all pending changes, each with its command, or of many only one command for each baseline, and
    the commands for all. `again`: what was typed behind `review`, of it `operator` about the project."""
    plans = proposal.plans
    if not plans:
        return "nothing is pending\n" if not proposal.refusals else ""
    is_full = sum(len(plan.changes) for plan in plans) <= _MOST_LINES
    lines = [f"pending: {count_changes(plans, [range(len(plan.changes)) for plan in plans])}", ""]
    for plan in plans[:_MOST_PLANS]:
        baseline, size = plan.baseline, len(plan.changes)
        number = f"   {size:,} changes" if size > 1 and not is_full else ""
        file = style.paint(one_line(baseline.source.file), "cyan")
        lines.append(f"{style.paint(one_line(baseline.id), 'bold')}   {file}{number}")
        for change in plan.changes if is_full else ():
            lines += change_lines(change, style, baseline.source.file)
            if size > 1 and is_free(change) and change.part == "output":
                lines.append(f"    {one_line(accept_command(plan, (change,), operator))}")
        if all(map(is_free, plan.changes)):
            lines.append(f"  {one_line(accept_command(plan, None, operator))}")
        if is_full:
            lines.append("")
    if len(plans) > _MOST_PLANS:
        lines.append(f"… and {len(plans) - _MOST_PLANS:,} more baselines")
    if lines[-1]:
        lines.append("")
    if len(plans) > 1 and all(is_free(change) for plan in plans for change in plan.changes):
        everything = [] if len(again) > len(operator) else ["--all-failed"]
        lines.append(f"all of it: {command_line('refresh', *everything, *again, '--yes')}")
    command = command_line("review", *again)
    lines.append(f"one by one: {command} (in a terminal)")
    lines.append(f"by a program: {command} --json, then {command} --decide FILE")
    return format_lines(lines)


def is_free(change: Change) -> bool:
    """Whether a change can be accepted without a question about it."""
    return not (change.blocked or change.risk == "high" or change.lost)


def accept_command(plan: RefreshPlan, changes: Sequence[Change] | None, operator: Sequence[str]) -> str:
    """Return the command that accepts these changes of a baseline, or all."""
    origin = plan.seen.origin
    source = {"kept": [], "replay": ["--replay"]}.get(origin, ["--from", origin])  # of the same answer
    words = ["baselinekit", "refresh", plan.baseline.id, *source, *operator]
    for change in changes or ():
        words += ["--path", render(change.path)]
    selected = plan.changes if changes is None else changes
    words += ["--yes"]
    words += ["--allow-high-risk"] if any(change.risk == "high" for change in selected) else []
    words += ["--drop-placeholders"] if any(change.lost for change in selected) else []
    return shlex.join(words)


def format_pending_json(
    proposal: RefreshProposal,
    offers: Mapping[Member, Mapping[str, Sequence[changes.Offer]]],
    operator: Sequence[str],
) -> str:
    """Return the pending changes as JSON for editors and agents. `offers`: what can be chosen instead of
    accepting."""
    pending = []
    for n, number in sorted(offers):
        plan, change = proposal.plans[n], proposal.plans[n].changes[number]
        can_accept = not change.blocked and change.part == "output"
        head = {"id": plan.baseline.id, "number": number, "file": plan.baseline.source.file}
        blocked = problem_document(change.blocked) if change.blocked else None
        choices = {
            name: [{"text": offer.text, "reason": offer.reason} for offer in offered]
            for name, offered in offers[n, number].items()
        }
        accept = accept_command(plan, (change,), operator) if can_accept else None
        tail = {"blocked": blocked, "note": change.note or None, **choices, "commands": {"accept": accept}}
        pending.append(head | change_document(change) | tail)
    several = [group for group in proposal.groups if len(group.members) > 1]
    groups = [group_document(one) | {"members": name_members(proposal, one.members)} for one in several]
    head = {"format": "baselinekit.review/1", "pending": pending, "groups": groups}
    return page(head | {"refused": refused_document(proposal)})


def format_decisions_json(
    proposal: RefreshProposal,
    applied: changes.Applied,
    counts: Mapping[Verb, int],
    remaining: Sequence[Member],
) -> str:
    """Return the outcome of the decisions as JSON, for the program that sent them."""
    left = [
        member | {"path": format_path(proposal.plans[n].changes[number])}
        for member, (n, number) in zip(name_members(proposal, remaining), remaining, strict=True)
    ]
    document: dict[str, Json] = {
        "format": "baselinekit.review/1",
        "decided": dict(counts),
        "written": [rewritten.file for rewritten in applied.files],
        "refreshed": list(applied.ids),
        "failures": [str(problem) for problem in applied.failures],
        "left": left,
        "refused": refused_document(proposal),
    }
    return page(document)
