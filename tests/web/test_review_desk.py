"""What the page shows of a change and writes of a decision: the very bytes that `refresh` and the terminal's
`review` write."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from desk import Desk

from baselinekit.changes.reviewing import settle_plans
from baselinekit.commands.refresh import Permit, RefreshScope, apply
from baselinekit.commands.review import decisions_in
from baselinekit.errors import InvalidInput
from baselinekit.model.changes import ApprovalNote
from baselinekit.store.images import image_of, keep_image
from baselinekit.web.pages import joined, static_page
from baselinekit.web.review import ReviewDesk

OUTPUT = """\
body:
  name: Ada   # a comment stays
  age: 36
  key: <<any_uuid>>
  old: gone soon
"""
NOW = {"name": "Grace", "age": 37, "key": "7", "new": "here"}
PNG = bytes.fromhex("89504e470d0a1a0a") + b"picture"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return a_desk(tmp_path)


def a_desk(folder: Path, number: int = 2) -> Desk:
    desk = Desk(folder)
    for n in range(number):
        desk.put(f"b{n}", OUTPUT)
        desk.says(f"b{n}", NOW)
    desk.compare()
    return desk


def page_of(desk: Desk, **scope: Any) -> ReviewDesk:
    return ReviewDesk(desk.project, RefreshScope(all_failed=True, **scope), desk.context())


def cards_of(page: ReviewDesk) -> dict[str, Any]:
    return {card["path"]: card for card in page.document(page.propose())["cards"]}


def entries(card: dict[str, Any], **decision: Any) -> list[dict[str, Any]]:
    return [{"id": one["id"], "seen": one["seen"], **decision} for one in card["members"]]


def files_of(desk: Desk) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (desk.folder / "baselines").iterdir()}


def test_card_shows_both_sides_risk_and_what_is_lost(desk: Desk) -> None:
    cards = cards_of(page_of(desk))
    assert [(path, card["risk"], len(card["members"])) for path, card in cards.items()] == [
        ("body.name", "medium", 2),
        ("body.age", "medium", 2),
        ("body.key", "medium", 2),
        ("body.old", "high", 2),
        ("body.new", "low", 2),
    ]
    age = cards["body.age"]
    assert age["sides"] == [
        {"type": "number", "parts": [[1, "36"]]},
        {"type": "number", "parts": [[1, "37"]]},
    ]
    assert cards["body.old"]["sides"][1] is None
    assert cards["body.key"]["members"][0]["loses"] == [["<<any_uuid>>", "body.key"]]
    assert cards["body.key"]["members"][0]["confirm"] == "accept the loss of <<any_uuid>>?"
    assert cards["body.name"]["place"].startswith("baselines/b0.yaml:")
    assert cards["body.name"]["members"][0]["confirm"] == ""


@pytest.mark.parametrize(
    ("path", "decision"),
    [
        ("body.name", {"decision": "accept"}),
        ("body.old", {"decision": "accept", "confirm": True}),
        ("body.age", {"decision": "placeholder", "value": "<<any_integer>>"}),
        ("body.age", {"decision": "ignore", "value": "body.age"}),
        ("body.new", {"decision": "reject"}),
    ],
)
def test_page_writes_what_the_terminal_writes(tmp_path: Path, path: str, decision: dict[str, Any]) -> None:
    by_page, by_file = a_desk(tmp_path / "page"), a_desk(tmp_path / "file")
    page = page_of(by_page)
    found = page.write({"decisions": entries(cards_of(page)[path], **decision), "by": "ada", "reason": "new"})
    proposal = by_file.propose()
    text = json.dumps([{"id": "*", "path": path, **decision}])
    read = decisions_in(text, "x.json", proposal, by_file.project, Permit())
    stamp = ApprovalNote(None, "ada", "new")
    applied = apply(by_file.project, settle_plans(proposal.plans, read.decided), stamp)
    assert files_of(by_page) == files_of(by_file)
    assert found["files"] == [one.file for one in applied.files]
    assert by_page.pending() == by_file.pending()


def test_page_writes_what_refresh_writes_where_all_is_accepted(tmp_path: Path) -> None:
    by_page, by_refresh = a_desk(tmp_path / "page"), a_desk(tmp_path / "refresh")
    page = page_of(by_page)
    cards = cards_of(page).values()
    decisions = [one for card in cards for one in entries(card, decision="accept", confirm=True)]
    assert page.write({"decisions": decisions})["left"] == 0
    by_refresh.refresh()
    assert files_of(by_page) == files_of(by_refresh)
    assert by_page.pending() == by_refresh.pending() == []


def test_other_values_are_other_cards_and_a_rule_names_what_it_covers(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    for n, (old, new) in enumerate([(42, 43), (42, 43), (10, 99999)]):
        desk.put(f"b{n}", f"body: {{price: {old}, name: a, rows: [x, y]}}\n")
        desk.says(f"b{n}", {"price": new, "name": "b", "rows": ["y", "x"]})
    desk.compare()
    page = page_of(desk)
    cards = page.document(page.propose())["cards"]
    prices = [card for card in cards if card["path"] == "body.price"]
    assert [len(card["members"]) for card in prices] == [2, 1]
    (name,) = (card for card in cards if card["path"] == "body.name")
    assert (len(name["members"]), name["rules"]) == (3, [["body.name", "here only", []]])
    ignored = page.preview({"decisions": entries(name, decision="ignore", value="body.*")})
    assert {*ignored["covered"]} > {one["seen"] for card in prices for one in card["members"]}
    (order,) = (card for card in cards if card["kind"] == "order")
    assert ["".join(text for _, text in side["parts"]) for side in order["sides"]] == ['"x"\n"y"', '"y"\n"x"']


def test_page_previews_the_file_and_writes_nothing(desk: Desk) -> None:
    page, before = page_of(desk), files_of(desk)
    shown = page.preview({"decisions": entries(cards_of(page)["body.name"], decision="accept")})
    assert "-      name: Ada   # a comment stays" in shown["lines"]
    assert "+      name: Grace   # a comment stays" in shown["lines"]
    assert files_of(desk) == before


def test_decision_about_a_file_that_was_edited_meanwhile_is_refused(desk: Desk) -> None:
    page = page_of(desk)
    decisions = entries(cards_of(page)["body.name"], decision="accept")
    file = desk.folder / "baselines/b0.yaml"
    file.write_text(file.read_text().replace("Ada", "Eve"))
    before = files_of(desk)
    with pytest.raises(InvalidInput) as refused:
        page.write({"decisions": decisions})
    assert [problem.code for problem in refused.value.problems] == ["BK531"]
    assert files_of(desk) == before
    refused_now = page.document(page.propose())["refused"]
    assert [(one["id"], one["code"]) for one in refused_now] == [("b0", "BK531")]


@pytest.mark.parametrize(("path", "code"), [("body.old", "BK532"), ("body.key", "BK533")])
def test_page_confirms_high_risk_and_lost_placeholders(desk: Desk, path: str, code: str) -> None:
    page, before = page_of(desk), files_of(desk)
    with pytest.raises(InvalidInput) as refused:
        page.write({"decisions": entries(cards_of(page)[path], decision="accept")})
    assert {problem.code for problem in refused.value.problems} == {code}
    assert files_of(desk) == before


def test_static_page_loads_nothing_and_its_data_ends_nowhere_else(desk: Desk) -> None:
    desk.says("b0", {**NOW, "name": "</script><script>alert(1)</script>"})
    desk.compare()
    page = page_of(desk)
    text = static_page(page.document(page.propose(), with_diffs=True))
    assert text.count("<script") == text.count("</script>") == 2
    assert "default-src 'none'; style-src 'sha256-" in text
    assert "http://" not in text.partition("</head>")[0]
    assert "import " not in joined("static.js")
    data = json.loads(text.partition('id="data">')[2].partition("</script>")[0])
    assert all(card["diff"]["lines"] for card in data["cards"])


def test_card_of_a_picture_has_both_of_them(desk: Desk) -> None:
    stored, came = (sha256(PNG + part).hexdigest() for part in (b"1", b"2"))
    desk.put("logo", f"body:\n  sha256: {stored}\n  size: 16\n")
    desk.says("logo", {"sha256": came, "size": 16})
    desk.compare()
    for kept in (0, 1, 2):
        if kept:
            keep_image(str(desk.folder), PNG + str(kept).encode())
        pictures = cards_of(page_of(desk))["body.sha256"]["images"]
        assert [(one["size"], one["data"] is not None) for one in pictures] == [
            (16, kept > 0),
            (16, kept > 1),
        ]


def test_images_are_kept_by_their_hash_and_other_bytes_are_not(tmp_path: Path) -> None:
    for data in (PNG, b"%PDF-1.7", PNG + b"x" * 2_000_000):
        keep_image(str(tmp_path), data)
    (kept,) = (tmp_path / ".baselinekit/images").iterdir()
    shown = image_of(str(tmp_path), kept.name)
    assert shown is not None
    assert shown.startswith("data:image/png;base64,")
    assert image_of(str(tmp_path), "../../baselinekit.yaml") is None
