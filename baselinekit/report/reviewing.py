"""What a review shows: one question with the keys that answer it, or a list if there is no terminal.

A screen has no more rows than the terminal: the keys at its end are always visible."""

import shlex
from collections.abc import Iterator, Mapping, Sequence

from baselinekit.escape import escape_ci_commands, one_line
from baselinekit.model.changes import (
    Applied,
    Change,
    Decision,
    Member,
    Offers,
    RefreshPlan,
    RefreshProposal,
    Scene,
    Verb,
)
from baselinekit.model.values import Json
from baselinekit.report.refreshing import (
    change_document,
    change_lines,
    count_changes,
    format_path,
    group_document,
    highest_risk,
    lost_document,
    name_members,
    problem_document,
    refused_document,
)
from baselinekit.report.sides import pair
from baselinekit.report.values import cut_line, page, short
from baselinekit.report.wording import Style, cut_to_width, format_lines, width, wrap_lines
from baselinekit.values.paths import render

FORMAT = "baselinekit.review/1"
DONE: dict[Verb, str] = {
    "accept": "accepted",
    "reject": "rejected",
    "skip": "skipped",
    "placeholder": "placeholder",
    "ignore": "ignored",
}
_COLOURS: dict[Verb, str] = {
    "accept": "green",
    "reject": "red",
    "skip": "yellow",
    "placeholder": "green",
    "ignore": "cyan",
}
_KEYS = (
    *(("a", "accept"), ("r", "reject"), ("s", "skip"), ("p", "placeholder"), ("g", "ignore")),
    *(("d", "diff"), ("i", "info"), ("u", "undo"), ("?", "help"), ("q", "quit")),
)
_ONE_BY_ONE = ("m", "one by one")
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
_LONGEST = 30
_MOST_CHANGES = 20
_MOST_PLANS = 40


def format_screen(scene: Scene, style: Style, rows: int) -> list[str]:
    """Return the lines of a question, each within the width of the terminal, and all within its rows."""
    columns = max(20, style.width - 1)
    tail = [cut_to_width(line, columns) for line in _footer_lines(scene, style, columns)]
    if scene.help:
        widest = max(len(key) for key, _ in _HELP)
        lines = ["", *(f"  {style.paint(f'{key:<{widest}}', 'bold')}  {text}" for key, text in _HELP)]
    else:
        lines = ["", *_question_lines(scene, style)]
    body = [cut_to_width(line, columns) for line in lines]
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
        yield from _group_lines(scene.members, style)
    for note in plan.notes:
        yield f"  {style.paint('note', 'yellow')} {cut_line(note)}"
    if scene.info:
        widest = max((len(name) for name, _ in context.facts), default=0)
        for name, text in context.facts:
            yield f"  {style.paint(f'{one_line(name):<{widest}}', 'dim')}  {cut_line(text)}"


def _group_lines(members: Sequence[tuple[RefreshPlan, Change]], style: Style) -> Iterator[str]:
    """Yield the other changes of the same kind: whether their values are the same, and where they are."""
    first, other_members = members[0], members[1:]
    ids = list(dict.fromkeys(plan.baseline.id for plan, _ in members))
    is_same = all((c.before, c.after) == (first[1].before, first[1].after) for _, c in other_members)
    names = [format_path(change) if len(ids) == 1 else plan.baseline.id for plan, change in other_members]
    suffix = f" and {len(other_members) - _SAMPLES:,} more" if len(other_members) > _SAMPLES else ""
    places = f"{', '.join(map(one_line, names[:_SAMPLES]))}{suffix}"
    if is_same:
        yield style.paint(f"  the same in {places} (m: one by one)", "yellow")
    else:
        yield style.paint(f"  and {len(other_members):,} of this kind (m: one by one)", "yellow")
        for name, (_, change) in zip(names[:_SAMPLES], other_members, strict=False):
            yield f"    {one_line(name)}  {_format_sides(change)}"
        if suffix:
            yield style.paint(f"    …{suffix}", "dim")
    risk = highest_risk([change for _, change in members])
    if risk != first[1].risk:
        yield f"    {style.paint(f'{risk} risk', 'bold red')} among them"


def _format_sides(change: Change) -> str:
    sides = {"added": (change.after,), "removed": (change.before,)}
    both = (change.before, change.after)
    if change.kind == "retyped":  # 29 and "29" would look the same
        texts = [cut_to_width(text, _LONGEST) for text in pair(*both, with_types=True)]
    else:
        texts = [cut_to_width(short(side, 200), _LONGEST) for side in sides.get(change.kind, both)]
    sign = {"added": "+ ", "removed": "- "}.get(change.kind, "")
    return sign + " -> ".join(texts)


def _footer_lines(scene: Scene, style: Style, columns: int) -> Iterator[str]:
    """Yield the message about the last key, the question, and the keys."""
    yield ""
    if scene.said:
        yield style.paint(cut_line(scene.said), "yellow")
    if scene.dialog is None:
        keys = [*_KEYS[:3], _ONE_BY_ONE, *_KEYS[3:]] if len(scene.members) > 1 else list(_KEYS)
        yield from _key_lines(keys, style, columns)
    elif scene.dialog.typed is not None:
        yield cut_line(scene.dialog.question)
        yield from _key_lines([("Enter", "take it"), ("Esc", "leave")], style, columns)
        typed = end = one_line(scene.dialog.typed)  # its end is shown, where the next character goes
        while width(end) > columns - (3 if end == typed else 4):
            end = end[1:]
        yield f"> {end}" if end == typed else f"> …{end}"
    else:
        dialog = scene.dialog
        yield from wrap_lines(one_line(dialog.question).split(" "), columns, " ")
        for n, offer in enumerate(dialog.offers, 1):
            text = f"{style.paint(str(n), 'bold')} {one_line(offer.text)}"
            yield f"  {text}  {style.paint(offer.reason, 'dim')}"
        keys = [("Enter", "1"), ("t", "type one"), ("Esc", "leave")] if dialog.offers else list(dialog.keys)
        yield from _key_lines(keys, style, columns)


def _key_lines(keys: Sequence[tuple[str, str]], style: Style, columns: int) -> Iterator[str]:
    """Yield the keys with their words; only the keys if the words do not fit on two lines."""
    full = list(wrap_lines([f"{key}\0{one_line(word)}" for key, word in keys], columns))
    if len(full) > 2:
        full = [" ".join(key for key, _ in keys)]
    key_names = {key for key, _ in keys}
    for line in full:
        parts = [word.partition("\0") for word in line.split("  ")]
        yield "  ".join(
            f"{style.paint(key, 'bold')} {action}"
            if mark and key in key_names
            else style.paint(f"{key}{mark}{action}", "bold")
            for key, mark, action in parts
        )


def describe_decision(members: Sequence[tuple[RefreshPlan, Change]], decision: Decision, style: Style) -> str:
    """Describe the last decision in one line that stays on the screen."""
    plan, change = members[0]
    word = style.paint(f"{DONE[decision.verb]:<11}", _COLOURS[decision.verb])
    text = f"{one_line(decision.text)}" if decision.text else _format_sides(change)
    suffix = f" and {len(members) - 1:,} more" if len(members) > 1 else ""
    line = f"{word} {one_line(plan.baseline.id)}  {one_line(format_path(change))}  {text}{suffix}"
    return escape_ci_commands(cut_to_width(line, max(20, style.width - 1)))


def count_verbs(counts: Mapping[Verb, int], style: Style) -> str:
    counted = [style.paint(f"{n:,} {DONE[verb]}", _COLOURS[verb]) for verb, n in counts.items() if n]
    return ", ".join(counted) or "nothing was decided"


def count_decisions(counts: Mapping[Verb, int], remaining: int, style: Style) -> str:
    """Return the last line: `3 accepted, 1 rejected, 2 left`."""
    line = count_verbs(counts, style)
    return f"{line}, {remaining:,} left" if remaining else line


def format_pending(
    proposal: RefreshProposal, style: Style, again: Sequence[str] = (), operator: Sequence[str] = ()
) -> str:
    """Format all pending changes, and the commands for them. `again`: what was typed behind `review`, of it
    `operator` about the project."""
    plans = proposal.plans
    if not plans:
        return "nothing is pending\n" if not proposal.refusals else ""
    total = sum(len(plan.changes) for plan in plans)
    lines = [f"pending: {count_changes(plans, [range(len(plan.changes)) for plan in plans])}", ""]
    for plan in plans[:_MOST_PLANS]:
        lines += plan_lines(plan, style, total <= _MOST_CHANGES, operator)
        lines += [""] if total <= _MOST_CHANGES else []
    if len(plans) > _MOST_PLANS:
        lines.append(f"… and {len(plans) - _MOST_PLANS:,} more baselines")
    lines += [""] if lines[-1] else []
    changes = [change for plan in plans for change in plan.changes]
    if len(plans) > 1 and all(map(is_free, changes)):
        everything = [] if len(again) > len(operator) else ["--all-failed"]
        words = ["baselinekit", "refresh", *everything, *again, "--yes"]
        lines.append(f"all of it: {one_line(shlex.join(words))}")
    command = one_line(shlex.join(["baselinekit", "review", *again]))
    lines.append(f"one by one: {command} (in a terminal)")
    lines.append(f"by a program: {command} --json, then {command} --decide FILE")
    return format_lines(lines)


def plan_lines(plan: RefreshPlan, style: Style, with_changes: bool, operator: Sequence[str]) -> Iterator[str]:
    """Yield the lines of one baseline: each change with its command, or one command for all of them."""
    baseline = plan.baseline
    file = style.paint(one_line(baseline.source.file), "cyan")
    number = f"   {len(plan.changes):,} changes" if len(plan.changes) > 1 and not with_changes else ""
    yield f"{style.paint(one_line(baseline.id), 'bold')}   {file}{number}"
    for change in plan.changes if with_changes else ():
        yield from change_lines(change, style, baseline.source.file)
        if len(plan.changes) > 1 and is_free(change) and change.part == "output":
            yield f"    {one_line(accept_command(plan, (change,), operator))}"
    if all(map(is_free, plan.changes)):
        yield f"  {one_line(accept_command(plan, None, operator))}"


def is_free(change: Change) -> bool:
    """Whether a change can be accepted without a question about it."""
    return not (change.blocked or change.risk == "high" or change.lost)


def accept_command(plan: RefreshPlan, changes: Sequence[Change] | None, operator: Sequence[str]) -> str:
    """Return the command that accepts these changes of a baseline, or all."""
    words = ["baselinekit", "refresh", plan.baseline.id, *_origin_options(plan), *operator]
    for change in changes or ():
        words += ["--path", render(change.path)]
    selected = plan.changes if changes is None else changes
    words += ["--yes"]
    words += ["--allow-high-risk"] if any(change.risk == "high" for change in selected) else []
    words += ["--drop-placeholders"] if any(change.lost for change in selected) else []
    return shlex.join(words)


def _origin_options(plan: RefreshPlan) -> list[str]:
    """Return the options by which a refresh gets the same answer; none if it is kept here."""
    origin = plan.seen.origin
    return {"kept": [], "replay": ["--replay"]}.get(origin, ["--from", origin])


def format_pending_json(
    proposal: RefreshProposal, offers: Mapping[Member, Offers], operator: Sequence[str]
) -> str:
    """Return the pending changes as JSON for editors and agents. `offers`: what can be chosen instead of
    accepting."""
    pending = [
        pending_document(proposal.plans[n], proposal.plans[n].changes[number], offers[n, number], operator)
        for n, number in sorted(offers)
    ]
    groups = [
        group_document(group) | {"members": name_members(proposal, group.members)}
        for group in proposal.groups
        if len(group.members) > 1
    ]
    return page(
        {"format": FORMAT, "pending": pending, "groups": groups, "refused": refused_document(proposal)}
    )


def pending_document(
    plan: RefreshPlan, change: Change, offers: Offers, operator: Sequence[str]
) -> dict[str, Json]:
    blocked = change.blocked
    facts = change_document(change)
    return {
        "id": plan.baseline.id,
        "number": facts.pop("number"),
        "file": plan.baseline.source.file,
        **facts,
        "loses": lost_document(change),
        "blocked": problem_document(blocked) if blocked else None,
        "note": change.note or None,
        "placeholders": [{"text": offer.text, "reason": offer.reason} for offer in offers.placeholders],
        "rules": [{"text": offer.text, "reason": offer.reason} for offer in offers.rules],
        "commands": {
            "accept": None
            if blocked or change.part != "output"
            else accept_command(plan, (change,), operator),
        },
    }


def format_decisions_json(
    proposal: RefreshProposal, applied: Applied, counts: Mapping[Verb, int], remaining: Sequence[Member]
) -> str:
    """Return the outcome of the decisions as JSON, for the program that sent them."""
    document: dict[str, Json] = {
        "format": FORMAT,
        "decided": dict(counts),
        "written": [rewritten.file for rewritten in applied.files],
        "refreshed": list(applied.ids),
        "failures": [str(problem) for problem in applied.failures],
        "left": [
            member | {"path": format_path(proposal.plans[n].changes[number])}
            for member, (n, number) in zip(name_members(proposal, remaining), remaining, strict=True)
        ],
        "refused": refused_document(proposal),
    }
    return page(document)
