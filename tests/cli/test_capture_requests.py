"""What is typed after `capture http`, as the request that it becomes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import pytest

from baselinekit.cli.capture import Kinds, LineOfCurl
from baselinekit.cli.main import COMMANDS, Commands
from baselinekit.cli.options import command
from baselinekit.cli.recipes import CurlOptions, HttpOptions, typed_request
from baselinekit.commands.project import Operator, open_project
from baselinekit.errors import InvalidInput

FILES = {"body.json": '{"a": 1}', "two.txt": "one\ntwo\n"}
URL = "https://a.test/x"


def asked(
    words: Sequence[str], base_url: str = "", folder: str = "/"
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The `current:` for these words, and what is left out of them."""
    project = open_project(Operator(folder, base_url=base_url or None))
    found: list[Any] = []

    def work(options: HttpOptions | CurlOptions) -> None:
        found.append(typed_request(options, project, FILES.__getitem__))

    kinds = command(HttpOptions, name="http"), command(CurlOptions, cls=LineOfCurl, name="curl")
    capture = Kinds("capture", commands=[kind(work) for kind in kinds])
    assert isinstance(capture, click.Group)
    capture.main(list(words), standalone_mode=False)
    return found[0].current, found[0].dropped


REQUESTS: list[tuple[list[str], dict[str, Any]]] = [
    ([URL], {"method": "GET"}),
    (["delete", URL], {"method": "DELETE"}),
    (["-X", "PUT", URL], {"method": "PUT"}),
    ([URL, "-d", '{"a": 1}'], {"method": "POST", "json": {"a": 1}}),
    ([URL, "-d", "@body.json"], {"method": "POST", "json": {"a": 1}}),
    ([URL, "-d", "a=1", "-d", "b=2"], {"method": "POST", "form": {"a": "1", "b": "2"}}),
    (
        [URL, "-d", '{"a": 1}', "-H", "Content-Type: text/plain"],
        {"method": "POST", "headers": {"Content-Type": "text/plain"}, "body": '{"a": 1}'},
    ),
    ([URL, "--json"], {"method": "GET"}),
    (["--json", URL], {"method": "GET"}),
    (["--json", "GET", URL], {"method": "GET"}),
    ([URL, "--param", "a=1"], {"method": "GET", "params": {"a": "1"}}),
    ([URL, "-F", "a=1"], {"method": "POST", "form": {"a": "1"}, "files": {}}),
    ([URL, "--form", "f=@two.txt"], {"method": "POST", "files": {"f": "two.txt"}}),
    ([URL, "-b", "a=1", "-b", "b=2"], {"method": "GET", "cookies": {"a": "1", "b": "2"}}),
    (
        [URL, "-u", "ada:{{p}}"],
        {"method": "GET", "auth": {"type": "basic", "username": "ada", "password": "{{p}}"}},
    ),
    (["curl", "--id", "a", "-XPUT", URL, "--tag", "b"], {"method": "PUT"}),
    (["curl", URL, "--data-raw", "--boundary=1", "-q"], {"method": "POST", "form": {"--boundary": "1"}}),
    (["curl", URL, "--id", "a", "-H", "--tag: 1", "--json", "{}"], {}),
    ([f"curl {URL} -H 'A: b c'"], {"method": "GET", "headers": {"A": "b c"}}),
    (["/usr/bin/curl", "-sSX", "PUT", URL], {"method": "PUT"}),
]


@pytest.mark.parametrize(("words", "expected"), REQUESTS, ids=[" ".join(words) for words, _ in REQUESTS])
def test_words_become_a_request(words: list[str], expected: dict[str, Any]) -> None:
    current, dropped = asked(["http", *words] if words[0] in (URL, "delete") or words[0][0] == "-" else words)
    if not expected:
        headers = {"--tag": "1", "Accept": "application/json"}
        expected = {"method": "POST", "headers": headers, "json": {}}
    assert current["input"] == {"endpoint": "/x", **expected}
    assert current["execution"] == {"type": "http", "base_url": "https://a.test"}
    assert dropped == ()


@pytest.mark.parametrize(
    ("words", "execution"),
    [
        (["-L"], {"redirects": 10}),
        (["-L", "--redirects", "3"], {"redirects": 3}),
        (["--timeout", "3"], {"timeout": 3.0}),
        (["-k"], {}),
        (["--keep-header", "ETag"], {"keep_headers": ["content-type", "etag"]}),
    ],
)
def test_how_it_is_sent(words: list[str], execution: dict[str, Any]) -> None:
    current, _ = asked([URL, *words])
    assert current["execution"] == {"type": "http", "base_url": "https://a.test", **execution}


@pytest.mark.parametrize("words", [["/x?a=1"], ["https://a.test/v1/x?a=1"]])
def test_what_stands_below_the_base_is_an_endpoint(words: list[str]) -> None:
    current, _ = asked(["http", *words], "https://a.test/v1")
    assert current["input"]["endpoint"] == "/x?a=1"


def test_typed_request_beside_the_path_of_the_base_url_states_its_own(tmp_path: Path) -> None:
    (tmp_path / "baselinekit.yaml").write_text("base_url: https://a.test/v1\n")
    current, _ = asked(["http", "https://a.test/v2/x"], folder=str(tmp_path))
    assert current["input"]["endpoint"] == "/v2/x"
    assert current["execution"]["base_url"] == "https://a.test"


def test_what_has_no_counterpart_is_named() -> None:
    assert asked(["curl", "-x", "http://p:1", URL])[1] == (
        "left out: --proxy has no counterpart: set HTTPS_PROXY",
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["http", "GET", "PUT", URL], "is not [METHOD] URL"),
        (["http", "/x"], "/x has no base_url"),
        (["http", "users"], "'users' is not a URL"),
        (["curl", URL, "--nosuch"], "the option --nosuch of curl is not known"),
        (["http", URL, "-H", "x"], "-H 'x' is not 'NAME: VALUE'"),
    ],
)
def test_what_is_no_request_is_told(words: list[str], message: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        asked(words)
    assert message in str(raised.value)


def test_files_are_named_from_where_the_baseline_stands(tmp_path: Path) -> None:
    from baselinekit.cli.recipes import with_files

    (tmp_path / "two.txt").write_text("x")
    project = open_project(Operator(str(tmp_path)))
    current = {"input": {"files": {"f": "two.txt"}}, "execution": {"type": "http", "cert": "me.pem"}}
    assert with_files(current, "a.test", project) == {
        "input": {"files": {"f": "../../two.txt"}},
        "execution": {"type": "http", "cert": "../../me.pem"},
    }


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_no_two_options_of_a_command_fill_one_field(name: str) -> None:
    """Those of two groups that are included in one command would take each other's values."""
    found = Commands("baselinekit").get_command(click.Context(Commands("x")), name)
    assert found is not None
    for each in found.commands.values() if isinstance(found, click.Group) else [found]:
        flags = [one.opts for one in each.params if isinstance(one, click.Option)]
        names = [one.name for one in each.params]
        assert len({flag for opts in flags for flag in opts}) == sum(map(len, flags)), each.name
        assert len(set(names)) == len(names), each.name
