"""What `refresh` and `review` show the person who approves changes: what would change in each baseline, files
before and after, and a question at a time with the keys that answer it.

A screen has no more rows than the terminal: the keys at its end are always visible."""

import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from baselinekit.escape import escape_ci_commands, escape_controls, one_line
from baselinekit.model import changes
from baselinekit.model.changes import RISKS, Change, Member, RefreshPlan, RefreshProposal, Risk, Scene, Verb
from baselinekit.model.values import Json
from baselinekit.report import differences, wording
from baselinekit.report.blocks import DiffLine
from baselinekit.report.next_commands import command_line
from baselinekit.report.values import cut_line, page, without_absent
from baselinekit.report.wording import Style, cut_to_width, first_of, format_lines
from baselinekit.values.paths import render
from baselinekit.values.texts import count_noun, list_first

_MOST_PLANS = 40
_MOST_LINES = 20
_MOST_LOST = 10
_RISK_COLOURS: dict[Risk, str] = {"low": "dim", "medium": "yellow", "high": "bold red"}
_SIGN_COLOURS = {"-": "red", "+": "green", "@": "cyan"}
_KINDS = {"value": "another value", "retyped": "another type", "order": "in another order"}

Accepted = Sequence[Collection[int]]
"""For each plan the numbers of the selected changes."""


def format_refresh(proposal: RefreshProposal, accepted: Accepted, style: Style) -> str:
    """Format all that would change, in the order of the baselines. The same change in many baselines comes
    first, and the same one in many rows is shown once; with `verbose`, every change by itself."""
    groups, plans = () if style.verbose else proposal.groups, proposal.plans
    lines: list[str] = []
    shared: set[Member] = set()
    for group in groups:
        members = [(n, number) for n, number in group.members if number in accepted[n]]
        ids = list(dict.fromkeys(plans[n].baseline.id for n, _ in members))
        if len(ids) >= differences.SHOWN_ONCE:
            shared.update(members)
            lines.append(style.paint(f"the same change in {len(ids):,} baselines", "bold"))
            lines += change_lines([(plans[n], plans[n].changes[c]) for n, c in members], group.path, style)
            lines += [style.paint(f"    {differences.name_baselines(ids)}", "cyan"), ""]
    path_of = {member: group.path for group in groups for member in group.members}
    shown_count = 0
    for n, plan in enumerate(plans):
        own = [c for c in plan.changes if c.number in accepted[n] and (n, c.number) not in shared]
        if not own and not (plan.notes and accepted[n]) and not plan.ruled:
            continue
        shown_count += 1
        if style.verbose or shown_count <= _MOST_PLANS:
            with_paths = [(path_of.get((n, change.number), format_path(change)), change) for change in own]
            lines += [*_plan_lines(plan, _bundles(with_paths), style), ""]
    if shown_count > _MOST_PLANS and not style.verbose:
        hidden = count_noun(shown_count - _MOST_PLANS, "more baseline")
        lines += [style.paint(f"… and {hidden} (-v shows them)", "dim"), ""]
    return format_lines(lines)


def _bundles(changes: Sequence[tuple[str, Change]]) -> list[tuple[str, list[Change]]]:
    """Return the changes in order; the same one in enough rows is one bundle, with the path of all."""
    counts = Counter((path, change.kind) for path, change in changes)
    bundles: dict[tuple[str, ...], list[Change]] = {}
    for path, change in changes:
        is_alone = counts[path, change.kind] < differences.SHOWN_ONCE
        key = (format_path(change),) if is_alone else (path, change.kind)
        bundles.setdefault(key, []).append(change)
    return [(path, bundle) for (path, *_), bundle in bundles.items()]


def _plan_lines(
    plan: RefreshPlan, bundles: Sequence[tuple[str, list[Change]]], style: Style
) -> Iterator[str]:
    """Yield the lines of one baseline."""
    baseline, size, number = plan.baseline, len(plan.changes), sum(len(bundle) for _, bundle in bundles)
    counted = count_noun(len(plan.ruled), "rule") if plan.ruled else count_noun(size, "change")
    file = style.paint(one_line(baseline.source.file), "cyan")
    shown_here = f", {number} of them here" if number < size and not plan.ruled else ""
    yield f"{style.paint(one_line(baseline.id), 'bold')}   {file}   {counted}{shown_here}"
    yield from (f"  {cut_line(line)}" for line in plan.ruled)
    most = len(bundles) if style.verbose else _MOST_LINES
    for path, bundle in bundles[:most]:
        yield from change_lines([(plan, change) for change in bundle], path, style)
    hidden_count = sum(len(bundle) for _, bundle in bundles[most:])
    if hidden_count:
        yield style.paint(f"  … and {count_noun(hidden_count, 'more change')} (-v shows them)", "dim")
    for note in plan.notes:
        yield f"  {style.paint('note', 'yellow')} {cut_line(note)}"


def change_lines(members: Sequence[tuple[RefreshPlan, Change]], path: str, style: Style) -> Iterator[str]:
    """Yield a change: its place, kind and risk, both sides, and the placeholders that would be lost. Of the
    same change in several places: how often each pair of values occurs."""
    changes = [change for _, change in members]
    kind, risk = _KINDS.get(changes[0].kind, changes[0].kind), highest_risk(changes)
    places = f" in {len(members):,} places" if len(members) > 1 else ""
    painted = style.paint(f"{risk} risk", _RISK_COLOURS[risk])
    yield f"  {style.paint(one_line(path), 'bold')}  {kind}{places}, {painted}"
    for line in differences.variant_lines([*map(sides_of, changes)], " (-v shows them)"):
        yield f"    {style.paint(line.text, line.tone)}"
    losses = [lost for change in changes for lost in change.lost]
    lost_places = [f"{one_line(lost.text)} at {one_line(render(lost.path))}" for lost in losses]
    word = style.paint("loses", "bold red")
    yield from (f"    {word} {line}" for line in first_of(lost_places, _MOST_LOST))
    for note in dict.fromkeys(change.note for change in changes if change.note):
        yield style.paint(f"    ({cut_line(note, 200)})", "dim")
    if blocked := next((change.blocked for change in changes if change.blocked), None):
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
    return {
        "number": change.number,
        "path": format_path(change),
        "kind": change.kind,
        "risk": change.risk,
        **without_absent({"before": change.before, "after": change.after}),
        **facts,
        "loses": [{"path": render(one.path), "text": one.text} for one in change.lost],
    }


def group_document(group: changes.Group) -> dict[str, Json]:
    return {"path": group.path, "kind": group.kind, "risk": group.risk}


def name_members(proposal: RefreshProposal, members: Iterable[Member]) -> list[Json]:
    return [{"id": proposal.plans[n].baseline.id, "number": number} for n, number in members]


def refused_document(proposal: RefreshProposal) -> list[Json]:
    refusals = proposal.refusals
    return [{"id": one.id, "file": one.file, **one.problem.facts} for one in refusals]


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
    """Format the diff for a screen, in colours and without control characters."""
    lines = unified_file(rewritten)
    painted = [style.paint(escape_controls(line), "bold") for line in lines[:2]]
    painted += [style.paint(escape_controls(line), _SIGN_COLOURS.get(line[:1], "")) for line in lines[2:]]
    return "".join(f"{line}\n" for line in painted)


# `review`: a question at a time.


DONE = dict(zip(changes.VERBS, ("accepted", "rejected", "skipped", "placeholder", "ignored"), strict=True))
_VERB_COLOURS = dict(zip(changes.VERBS, ("green", "red", "yellow", "green", "cyan"), strict=True))
_KEYS = {
    "a": ("accept", "the baseline takes the new value"),
    "r": ("reject", "the baseline stays as it is, and will fail again"),
    "s": ("skip", "it stays pending"),
    "m": ("one by one", "decide about the members of a group"),
    "p": ("placeholder", "put one there"),
    "g": ("ignore", "this path from now on"),
    "d": ("diff", "of the file, with the values in full"),
    "i": ("info", "recipe, capture, environment"),
    "u": ("undo", "the last decision"),
    "?": ("help", "this list"),
    "q": ("quit", "asks whether to keep the decisions"),
    "A R S": ("all", "accept, reject or skip all that remain (asks first)"),
    "Ctrl-C": ("stop", "nothing is written"),
}
_KEY_OF_GROUPS = "m"
_SAMPLES = 3
_LEAST_ROWS = 8


def format_screen(scene: Scene, style: Style, rows: int) -> list[str]:
    """Return the lines of a question, each within the width of the terminal, and all within its rows."""
    columns = max(20, style.width - 1)
    lines: Iterable[str] = _question_lines(scene, style)
    if scene.help:
        widest = max(map(len, _KEYS))
        lines = [
            f"  {style.paint(f'{key:<{widest}}', 'bold')}  {word}: {text}"
            for key, (word, text) in _KEYS.items()
        ]
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
    yield from change_lines(scene.members, format_path(change), style)
    if others := scene.members[1:]:
        is_one = all(other.baseline.id == plan.baseline.id for other, _ in others)
        names = [one_line(format_path(one) if is_one else other.baseline.id) for other, one in others]
        yield style.paint(f"  also in {list_first(names, _SAMPLES)} (m: one by one)", "yellow")
    for note in plan.notes:
        yield f"  {style.paint('note', 'yellow')} {cut_line(note)}"
    if scene.info:
        widest = max((len(name) for name, _ in context.facts), default=0)
        for name, text in context.facts:
            yield f"  {style.paint(f'{one_line(name):<{widest}}', 'dim')}  {cut_line(text)}"


def _footer_lines(scene: Scene, style: Style, columns: int) -> Iterator[str]:
    """Yield the message about the last key, the question, and the keys."""
    yield ""
    if scene.said:
        yield style.paint(cut_line(scene.said), "yellow")
    if scene.dialog is None:
        is_group = len(scene.members) > 1
        shown = (key for key in _KEYS if len(key) == 1 and (is_group or key != _KEY_OF_GROUPS))
        keys = [(key, _KEYS[key][0]) for key in shown]
        yield from _key_lines(keys, style, columns)
    elif scene.dialog.typed is not None:
        yield cut_line(scene.dialog.question)
        yield from _key_lines([("Enter", "take it"), ("Esc", "leave")], style, columns)
        yield f"> {one_line(scene.dialog.typed)[3 - columns :]}"  # its end, where the next character goes
    else:
        dialog = scene.dialog
        yield from wording.wrap_lines(one_line(dialog.question).split(" "), columns, " ")
        for n, offer in enumerate(dialog.offers, 1):
            text = f"{style.paint(str(n), 'bold')} {one_line(offer.text)}"
            yield f"  {text}  {style.paint(offer.reason, 'dim')}"
        keys = [("Enter", "1"), ("t", "type one"), ("Esc", "leave")] if dialog.offers else list(dialog.keys)
        yield from _key_lines(keys, style, columns)


def _key_lines(keys: Sequence[tuple[str, str]], style: Style, columns: int) -> Iterable[str]:
    words = [f"{style.paint(key, 'bold')} {one_line(word)}" for key, word in keys]
    return wording.wrap_lines(words, columns)


def describe_decision(
    members: Sequence[tuple[RefreshPlan, Change]], decision: changes.Decision, style: Style
) -> str:
    """Describe the last decision in one line that stays on the screen."""
    plan, change = members[0]
    word = style.paint(f"{DONE[decision.verb]:<11}", _VERB_COLOURS[decision.verb])
    text = one_line(decision.text) or " ".join(line.text for line in sides_of(change) if line.tone != "dim")
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
    """Format all pending changes, and the commands that accept them: of each baseline that needs no question,
    and of all. `again`: what was typed behind `review`, of it `operator` about the project."""
    plans = proposal.plans
    if not plans:
        return "nothing is pending\n" if not proposal.refusals else ""
    everything = [range(len(plan.changes)) for plan in plans]
    lines = [f"pending: {count_changes(plans, everything)}", ""]
    lines += format_refresh(proposal, everything, style).splitlines()
    free = [plan for plan in plans if all(map(is_free, plan.changes))]
    lines += first_of([one_line(accept_command(plan, None, operator)) for plan in free], _MOST_PLANS)
    if len(plans) > 1 and len(free) == len(plans):
        chosen = [] if len(again) > len(operator) else ["--all-failed"]
        lines.append(f"all of it: {command_line('refresh', *chosen, *again, '--yes')}")
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
    digests: Mapping[Member, str],
    operator: Sequence[str],
) -> str:
    """Return the pending changes as JSON for editors and agents. `offers`: what can be chosen instead of
    accepting; `digests`: what a decision gives as `seen`."""
    pending = []
    for n, number in sorted(offers):
        plan, change = proposal.plans[n], proposal.plans[n].changes[number]
        can_accept = not change.blocked and change.part == "output"
        head = {"id": plan.baseline.id, "number": number, "seen": digests[n, number]}
        head["file"] = plan.baseline.source.file
        blocked = change.blocked.facts if change.blocked else None
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
