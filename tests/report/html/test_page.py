"""The HTML report: one page that loads nothing, runs nothing of anybody else, and says all there is (F32)."""

import re
from base64 import b64encode
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import example, given, strategies as st
from report.pages import BREAKING, SCRIPT, STYLE, Page
from report.reports import FILE, NASTY, report, result, spot

from baselinekit.model.results import Report
from baselinekit.report.forms import render_report

ANY_TEXT = st.text(st.characters(codec=None, categories=None), max_size=40)


def page_of(run: Report) -> Page:
    return Page(render_report(run, "x.html"))


def hostile(text: str, other: str) -> Report:
    failed = result(
        text,
        "failed",
        spot((text, 0, other), "value", text, other, rule=other, note=text),
        spot((other,), "value", f"a\n{text}\nb", f"a\n{other}\nb"),
        name=other,
        criticality=text,
        target=other,
        notes=(text,),
        explanation=(other,),
        environment_drift={text: (other, {other: text})},
    )
    wrong = result(other, "error", reason=f"{text}\n{other}", code="BK301")
    passed = result(text, "passed", notes=(other,))
    more: dict[str, Any] = {"command": text, "started": other, "tool": text, "config": other, "id": text}
    return report(failed, wrong, passed, **more, warnings=(text,), environment={text: other})


@pytest.mark.slow
@given(ANY_TEXT, ANY_TEXT)
@example(BREAKING, NASTY)
@example("</script><script>", "' autofocus onfocus='x")
def test_f32_page_of_any_text_is_text(text: str, other: str) -> None:
    written = render_report(hostile(text, other), "x.html")
    parsed = Page(written)
    assert parsed.verbatim == {"script": [SCRIPT], "style": [STYLE]}
    assert text != BREAKING or "<script>alert(1)</script><img src=x onerror=alert(1)>" in parsed.text
    tags = {tag for tag, _ in parsed.elements}
    assert not tags & {"img", "iframe", "object", "embed", "link", "base", "form", "a", "video", "audio"}
    for _, attributes in parsed.elements:
        assert not {name for name in attributes if name.startswith("on")}
        assert not {"src", "href", "style", "srcdoc", "action", "formaction"} & set(attributes)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202e\ufffe\uffff\ud800-\udfff]", written)


def test_f32_page_forbids_all_but_its_own_style_and_script() -> None:
    written = render_report(hostile(BREAKING, NASTY), "x.html")
    policy = next(
        attributes["content"] or ""
        for tag, attributes in Page(written).elements
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none'; ")
    for tag in ("style", "script"):
        inside = re.search(rf"<{tag}>(.*?)</{tag}>", written, re.DOTALL)
        assert inside is not None
        digest = b64encode(sha256(inside[1].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert "unsafe" not in policy
    assert written.index("Content-Security-Policy") < written.index("<style>") < written.index("<script>")


def a_run() -> Report:
    return report(
        result("fine", "passed", seconds=0.002),
        result("noted", "passed", notes=("a rule matched nothing",)),
        result(
            "users",
            "failed",
            spot(("body", "users", 1, "name"), "value", "Grace B. Hopper", "Grace Hopper"),
            spot(("body", "text"), "value", "one\ntwo\nthree\n", "one\n2\nthree\n", line=20),
            name="User list",
            criticality="critical",
            environment_drift={"python": ("3.11.7", "3.12.1")},
        ),
        result("orders", "error", code="BK301", reason="nothing answers there"),
        config="baselinekit.yaml",
        environment={"platform": "linux"},
    )


def test_page_shows_differences_places_and_next_commands() -> None:
    parsed = page_of(a_run())
    for words in (
        *("2 of 4 did not pass", "1 failed", "1 error", "2 passed", "User list · critical · 2 differences"),
        *("body.users[1].name", f"{FILE}:14", f"{FILE}:20", "baselinekit review users", "3.11.7", "3.12.1"),
        *("nothing answers there", "baselinekit explain BK301", "a rule matched nothing", "baselinekit.yaml"),
    ):
        assert words in parsed.text, words
    order = [attributes["data-outcome"] for attributes in parsed.of_class("result")]
    assert order == ["failed", "error", "passed", "passed"]


def test_page_opens_failures() -> None:
    found = [
        (tag, "open" in attributes)
        for tag, attributes in page_of(a_run()).elements
        if "result" in (attributes.get("class") or "").split()
    ]
    assert found == [("details", True), ("details", True), ("div", False), ("details", False)]


def test_page_names_every_control() -> None:
    parsed = page_of(a_run())
    for tag, attributes in parsed.elements:
        if tag == "input" and attributes["type"] == "search":
            assert attributes["aria-label"]
    assert parsed.elements[0] == ("html", {"lang": "en"})


@pytest.mark.slow
def test_page_of_a_long_run_is_cut_with_a_count() -> None:
    half = 1_500
    many = [
        result(f"bad-{n}", "failed", *(spot((f"k{n}", k), "value", "x" * 400, "y" * 400) for k in range(5)))
        for n in range(half)
    ]
    written = render_report(report(*many, *(result(f"good-{n}", "passed") for n in range(half))), "x.html")
    assert len(written) < 10_000_000
    assert written.count('data-outcome="') == 2 * half
    left_out = re.search(r"the details of ([\d,]+) results are left out", written)
    assert left_out is not None
    assert int(left_out[1].replace(",", "")) + written.count("<details") == half
