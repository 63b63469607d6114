"""Web pages as frameworks render them, 10 to 60 kB, with a token, a nonce and moments in them: what is learnt
accepts the page of any other hour, holds on to every character of the rest, and takes a second at most."""

import base64
import re
import time
import uuid
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from baselinekit.learning.varying import ReplayView, learn_places
from baselinekit.placeholders.table import PlaceholderContext
from baselinekit.placeholders.template import compile_text

WORDS = PlaceholderContext(now=datetime(2026, 11, 22, 22, tzinfo=UTC).timestamp())
FORMS = "token token iso_datetime datetime(http) number uuid(4) token token"
LEARNT = [f"<<any_{form}>>" for form in FORMS.split()]
NAMES = ["Ada Lovelace", "Zuse", "Grace Hopper", "Łukasiewicz", "Turing &amp; Co", "it's"]


def row(n: int) -> str:
    link = f'<a href="/db/tables/{n}">{NAMES[n % 6]} {n * 7}</a>'
    cells = f"<td>{n}</td><td>{link}</td><td>2026-01-{n % 28 + 1:02d}</td><td>{n * 137 % 1000 / 10}</td>"
    return f"  <tr>{cells}</tr>"


def page(rows: int, seed: int) -> str:
    """One page of a shop: `seed` says when and by whom it is asked, the rest stays."""
    dice = Random(seed)
    at = datetime(2026, 11, 22, 21, 59, 50, tzinfo=UTC) + timedelta(seconds=seed * 7919)
    csrf = base64.urlsafe_b64encode(dice.randbytes(32)).decode().rstrip("=")
    nonce = base64.b64encode(dice.randbytes(16)).decode()
    order = uuid.UUID(int=dice.getrandbits(128), version=4)
    cells = "\n".join(row(n) for n in range(rows))
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="csrf-token" content="{csrf}">
<script nonce="{nonce}">window.started = "{at.isoformat()}"; let m = {{}};</script>
<style>@media (max-width: 576px) {{ td {{ display: block }} }}</style></head>
<body>
<p>Rendered {at:%a, %d %b %Y %H:%M:%S} GMT in {dice.uniform(0.01, 0.4):.4f} s</p>
<table>
{cells}
</table>
<form action="/orders/{order}/pay" method="post"><input type="hidden" name="csrf" value="{csrf}"></form>
<script nonce="{nonce}" src="/static/app.8f3e2a1c.js"></script>
</body></html>
"""


def learnt(rows: int) -> tuple[str, float]:
    """What is stored of two answers, and the seconds of the processor that it took."""
    outputs = [{"status": 200, "body": page(rows, seed)} for seed in (1, 2)]
    look = ReplayView(wholes=[("body",)], outcomes=[("status",)], words=WORDS)
    began = time.process_time()
    lesson = learn_places(outputs, look)
    took = time.process_time() - began
    assert not lesson.refusals
    (text,) = lesson.placeholders.values()
    return text, took


@pytest.mark.slow
def test_learn_places_of_a_page_is_right_and_quick() -> None:
    assert len(page(550, 1)) >= 48_000
    text, took = learnt(550)
    assert (re.findall(r"<<[^<>]*>>", text), took < 2) == (LEARNT, True), took
    template = compile_text(text, WORDS)
    assert not isinstance(template, str)
    assert all(template.accepts(page(550, seed), {}) for seed in range(1, 12))


def test_learnt_page_refuses_a_changed_character() -> None:
    """One character, a row or a number that is another one, wherever nothing varies."""
    text, _ = learnt(170)
    template = compile_text(text, WORDS)
    assert not isinstance(template, str)
    actual, other = page(170, 7), page(170, 8)
    steady = [n for n, (first, two) in enumerate(zip(actual, other, strict=False)) if first == two]
    table = range(actual.index("<table>"), actual.index("</table>"))
    dice = Random(13)
    for place in dice.sample([n for n in steady if n in table], 60):
        sign = "Z" if actual[place] != "Z" else "Y"
        changed = f"{actual[:place]}{sign}{actual[place + 1 :]}"
        assert not template.accepts(changed, {}), (place, actual[place - 20 : place + 20])
    for before, after in (
        ("<td>2026-01-03</td>", "<td>2026-01-04</td>"),
        ("app.8f3e2a1c.js", "app.9f3e2a1c.js"),
        ('name="csrf-token" content="', 'name="csrf-token" content="" x="'),
        ('method="post"', 'method="get"'),
    ):
        assert before in actual
        assert not template.accepts(actual.replace(before, after, 1), {}), after
