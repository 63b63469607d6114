"""A list of URLs and of curl lines as requests."""

import json

from baselinekit.commands.importing import importer_of
from baselinekit.importers import har, lines
from baselinekit.importers.drafts import ImportChoices, ImportedFile, SourceText
from baselinekit.model.values import Json
from baselinekit.moving import vcr


def read(text: str, **choices: Json) -> ImportedFile:
    return lines.read(SourceText("urls.txt", text), ImportChoices(**choices))


def test_importer_of_lists_of_requests_and_other_texts() -> None:
    for text in ("# mine\n\n  GET https://a.test/x  # why\n", "/users\n", "$ curl a.test"):
        importer = importer_of(SourceText("x", text))
        assert importer is not None
        assert importer.FORM == lines.FORM
    for text in ("", "# only\n", "hello http://a.test", "curly a", "a.test/x", '{"swagger": 1'):
        assert importer_of(SourceText("x", text)) is None


def test_read_of_lines_has_a_request_for_each() -> None:
    text = (
        "https://a.test/x?page=1\nHEAD https://a.test/x\n\n# c\n/users\n"
        "curl https://b.test/y \\\n  -H 'Accept: text/plain'\n  $ curl 'https://a.test/z'\nPOST https://a.test/x\n"
    )
    found = read(text, base_url="https://a.test/")
    ids = {1: "get-x", 2: "head-x", 5: "get-users", 6: "get-y", 8: "get-z"}
    assert {draft.line: draft.id for draft in found.drafts} == ids
    assert found.drafts[0].current["input"] == {"method": "GET", "endpoint": "/x?page=1"}
    sent = {"method": "GET", "endpoint": "/y", "headers": {"Accept": "text/plain"}}
    execution = {"type": "http", "base_url": "https://b.test"}
    assert found.drafts[3].current == {"input": sent, "execution": execution}
    assert found.unsafe == 1
    (draft,) = read("curl -k https://a.test/x").drafts
    assert draft.notes == ("-k is not carried over: `http: {verify: false}` in baselinekit.yaml allows it",)
    assert "verify" not in draft.current["execution"]


def test_read_lists_lines_that_are_no_request() -> None:
    found = read(
        "https://a.test/x\nnonsense\ncurl --nosuch a\n/users\ncurl a \\\n  -H $T\n"
        'curl a -d "$T\n/x"\ncurl \'a\n'
    )
    assert [(left.line, left.message) for left in found.left_out] == [
        (2, "neither a URL nor a curl line"),
        (3, "curl: option --nosuch not recognized"),
        (4, "/users has no base_url"),
        (5, "$T is for the shell to fill in, and nothing is known of it here"),
        (7, "$T is for the shell to fill in, and nothing is known of it here"),
        (9, "a quote is never closed"),
    ]
    assert len(found.drafts) == 1


def test_read_of_an_address_with_a_login_is_that_of_curl() -> None:
    found = read("https://ada:pw12@a.test/x\nhttps://key12345@a.test/x\n")
    assert [draft.current["execution"]["base_url"] for draft in found.drafts] == ["https://a.test"] * 2
    first, second = (draft.current["input"]["auth"] for draft in found.drafts)
    assert first == {"type": "basic", "username": "ada", "password": "{{API_PASSWORD}}"}
    assert second == {"type": "basic", "username": "{{API_KEY}}", "password": ""}
    assert {value for value, _ in found.secrets.values()} == {"pw12", "key12345"}


def test_read_puts_variables_in_place_of_credentials() -> None:
    key = "-H 'X-Api-Key: k-998877665544aabb'"
    text = f"curl https://a.test/x {key}\ncurl https://a.test/y -u ada:pa55word {key}\n"
    found = read(text)
    first, second = (draft.current["input"] for draft in found.drafts)
    assert first["headers"] == second["headers"] == {"X-Api-Key": "{{X_API_KEY}}"}
    assert second["auth"] == {"type": "basic", "username": "ada", "password": "{{API_PASSWORD}}"}
    assert found.secrets["X_API_KEY"] == ("k-998877665544aabb", ("a.test",))
    assert found.secrets["API_PASSWORD"] == ("pa55word", ("a.test",))


def test_read_leaves_out_a_malformed_url_without_showing_its_secrets() -> None:
    url, message = "http://ada:pass@[x/y?token=1", "http://…@[x/y is not a URL"
    found = read(f"GET http://a.test/x\nGET {url}\n{url}\ncurl '{url}'\n")
    assert [draft.id for draft in found.drafts] == ["get-x"]
    without_login = message.replace("…@", "")
    assert [left.message for left in found.left_out] == [message, message, without_login]
    urls, answer = ("http://a.test/x", url), {"status": {"code": 200}, "content": {"mimeType": "a/json"}}
    entries = [{"request": {"method": "get", "url": each}, "response": answer} for each in urls]
    archive = har.read(SourceText("a", json.dumps({"log": {"entries": entries}})), ImportChoices())
    recorded = [{"request": {"method": "GET", "uri": each}, "response": answer} for each in urls]
    cassette = vcr.read(SourceText("a", json.dumps({"interactions": recorded})), ImportChoices())
    assert cassette is not None
    for imported in (archive, cassette.imported):
        assert [draft.id for draft in imported.drafts] == ["get-x"]
        assert [left.message for left in imported.left_out] == [f"GET {message}"]


def test_read_of_a_path_that_looks_like_a_malformed_host() -> None:
    (draft,) = read("GET http://a.test//[x/y?page=1#z").drafts
    assert (draft.id, draft.current["input"]["endpoint"]) == ("get-x-y", "//[x/y?page=1")
