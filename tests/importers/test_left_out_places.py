"""What an import leaves out because a value has an unexpected kind: each is named where it stands, and the
rest is read."""

import json

import pytest

from baselinekit.importers import har, lines, vcr
from baselinekit.importers.drafts import ImportChoices, ImportedFile, SourceText

# Addresses that cannot be read.

BAD_URLS = [
    ("http://[x/y?token=1", "http://[x/y is not a URL"),
    ("http://ada:pass@[x/y", "http://…@[x/y is not a URL"),
    ("https://[::1/y", "https://[::1/y is not a URL"),
]


def told(imported: ImportedFile) -> list[tuple[int, str]]:
    return [(left.line, left.what) for left in imported.left_out]


@pytest.mark.parametrize(("url", "what"), BAD_URLS)
def test_a_line_with_a_malformed_url_is_left_out(url: str, what: str) -> None:
    source = SourceText("urls.txt", f"GET http://a.test/x\nGET {url}\n{url}\ncurl '{url}'\n")
    found = lines.read(source, ImportChoices())
    assert [draft.id for draft in found.drafts] == ["get-x"]
    assert told(found) == [(2, what), (3, what), (4, what.replace("…@", ""))]


@pytest.mark.parametrize(("url", "what"), BAD_URLS)
def test_an_entry_with_a_malformed_url_is_left_out(url: str, what: str) -> None:
    entries = [
        {"request": {"method": "get", "url": each}, "response": {"content": {"mimeType": "application/json"}}}
        for each in ("http://a.test/x", url)
    ]
    source = SourceText("a.har", json.dumps({"log": {"entries": entries}}, indent=1))
    found = har.read(source, ImportChoices())
    assert [draft.id for draft in found.drafts] == ["get-x"]
    ((line, message),) = told(found)
    assert message == f"GET {what}"
    assert line > 10


@pytest.mark.parametrize(("url", "what"), BAD_URLS)
def test_an_interaction_with_a_malformed_url_is_left_out(url: str, what: str) -> None:
    response = {"status": {"code": 200}, "headers": {}, "body": {"string": "{}"}}
    interactions = [
        {"request": {"method": "GET", "uri": each}, "response": response} for each in ("http://a.test/x", url)
    ]
    source = SourceText("a.json", json.dumps({"interactions": interactions}, indent=1))
    cassette = vcr.read(source, ImportChoices())
    assert cassette is not None
    assert [draft.id for draft in cassette.imported.drafts] == ["get-x"]
    assert [message for _, message in told(cassette.imported)] == [f"GET {what}"]


def test_a_path_may_look_like_a_malformed_host() -> None:
    (draft,) = lines.read(SourceText("a", "GET http://a.test//[x/y?page=1#z"), ImportChoices()).drafts
    assert (draft.id, draft.current["input"]["endpoint"]) == ("get-x-y", "//[x/y?page=1#z")
