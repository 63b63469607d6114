"""What is typed after `capture`: the request that it becomes, and the rules of its file."""

from collections.abc import Iterator, Sequence
from contextlib import chdir
from pathlib import Path
from typing import Any

import click
import pytest

from baselinekit.cli.capture import Kinds, LineOfCurl
from baselinekit.cli.main import cli
from baselinekit.cli.options import Number, PathRuleOptions, command
from baselinekit.cli.recipes import CurlOptions, HttpOptions, parse_path_rules, typed_request, with_files
from baselinekit.commands.project import Operator, open_project
from baselinekit.errors import InvalidInput

FILES = {"body.json": '{"a": 1}', "two.txt": "one\ntwo\n"}
URL = "https://a.test/x"


def parse_capture(
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
    ([URL, "-d", '{"a": 1}'], {"method": "POST", "json": {"a": 1}}),
    ([URL, "-d", "a=1", "-d", "b=2"], {"method": "POST", "form": {"a": "1", "b": "2"}}),
    (
        [URL, "-d", '{"a": 1}', "-H", "Content-Type: text/plain"],
        {"method": "POST", "headers": {"Content-Type": "text/plain"}, "body": '{"a": 1}'},
    ),
    (["--json", "GET", URL], {"method": "GET"}),
    ([URL, "--param", "a=1"], {"method": "GET", "params": {"a": "1"}}),
    ([URL, "--form", "f=@two.txt"], {"method": "POST", "files": {"f": "two.txt"}}),
    (["curl", "--id", "a", "-XPUT", URL, "--tag", "b"], {"method": "PUT"}),
    (["curl", URL, "--data-raw", "--boundary=1", "-q"], {"method": "POST", "form": {"--boundary": "1"}}),
    (["curl", URL, "--id", "a", "-H", "--tag: 1", "--json", "{}"], {}),
    ([f"curl {URL} -H 'A: b c'"], {"method": "GET", "headers": {"A": "b c"}}),
    (["/usr/bin/curl", "-sSX", "PUT", URL], {"method": "PUT"}),
]


@pytest.mark.parametrize(("words", "expected"), REQUESTS, ids=[" ".join(words) for words, _ in REQUESTS])
def test_typed_request_has_every_option_as_typed(words: list[str], expected: dict[str, Any]) -> None:
    current, dropped = parse_capture(
        ["http", *words] if words[0] in (URL, "delete") or words[0][0] == "-" else words
    )
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
        (["-k"], {}),
        (["--keep-header", "ETag"], {"keep_headers": ["content-type", "etag"]}),
    ],
)
def test_typed_request_has_its_execution(words: list[str], execution: dict[str, Any]) -> None:
    current, _ = parse_capture([URL, *words])
    assert current["execution"] == {"type": "http", "base_url": "https://a.test", **execution}


@pytest.mark.parametrize("words", [["/x?a=1"], ["https://a.test/v1/x?a=1"]])
def test_typed_request_below_the_base_url_is_an_endpoint(words: list[str]) -> None:
    current, _ = parse_capture(["http", *words], "https://a.test/v1")
    assert current["input"]["endpoint"] == "/x?a=1"


def test_typed_request_beside_the_path_of_the_base_url_states_its_own(tmp_path: Path) -> None:
    (tmp_path / "baselinekit.yaml").write_text("base_url: https://a.test/v1\n")
    current, _ = parse_capture(["http", "https://a.test/v2/x"], folder=str(tmp_path))
    assert current["input"]["endpoint"] == "/v2/x"
    assert current["execution"]["base_url"] == "https://a.test"


def test_typed_request_lists_options_of_curl_without_counterpart() -> None:
    dropped = ("left out: --proxy has no counterpart",)
    assert parse_capture(["curl", "-x", "http://p:1", URL])[1] == dropped


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["http", "/x"], "/x has no base_url"),
        (["http", "users"], "'users' is not a URL"),
        (["curl", URL, "--nosuch"], "curl: option --nosuch not recognized"),
        (["http", URL, "-H", "x"], "-H 'x' is not 'NAME: VALUE'"),
    ],
)
def test_typed_request_that_is_none_is_refused(words: list[str], message: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        parse_capture(words)
    assert message in str(raised.value)


def test_with_files_names_files_from_the_folder_of_the_baseline(tmp_path: Path) -> None:
    (tmp_path / "two.txt").write_text("x")
    project = open_project(Operator(str(tmp_path)))
    current = {"input": {"files": {"f": "two.txt"}}, "execution": {"type": "http", "cert": "me.pem"}}
    assert with_files(current, "a.test", project) == {
        "input": {"files": {"f": "../../two.txt"}},
        "execution": {"type": "http", "cert": "../../me.pem"},
    }


@pytest.mark.parametrize(
    ("words", "rules"),
    [
        ("--ignore a --ignore b.*", {"ignore_fields": ["a", "b.*"]}),
        ("--tolerance a=0.05", {"tolerance": {"a": {"abs": 0.05}}}),
        ("--tolerance a=-0.3", {"tolerance": {"a": {"min_delta": -0.3}}}),
        ("--tolerance a=+2", {"tolerance": {"a": {"max_delta": 2}}}),
        ("--tolerance a=5%", {"tolerance": {"a": {"rel": 0.05}}}),
        ("--array rows=unordered --array b=by:id", {"arrays": {"rows": "unordered", "b": {"by": "id"}}}),
        *((f"--tolerance a{wrong}", None) for wrong in ("", "=b", "=1e400", "=-5%", "=nan")),
        *((f"--array a={wrong}", None) for wrong in ("sideways", "by:")),
    ],
)
def test_parse_path_rules_gives_rules_or_refuses_them(words: str, rules: dict[str, Any] | None) -> None:
    parse = command(PathRuleOptions, name="rules")(parse_path_rules)
    if rules is not None:
        assert parse.main(words.split(), standalone_mode=False) == rules
        return
    with pytest.raises(InvalidInput) as raised:
        parse.main(words.split(), standalone_mode=False)
    assert {problem.code for problem in raised.value.problems} == {"BK508"}


def commands(group: click.Group) -> Iterator[click.Command]:
    for name in group.list_commands(click.Context(group)):
        found = group.get_command(click.Context(group), name)
        assert found is not None, name
        yield from commands(found) if isinstance(found, click.Group) else (found,)


def test_options_of_a_command_fill_fields_of_their_own_and_take_finite_numbers() -> None:
    """Two options of one field would take each other's values, and NaN is within any bounds."""
    numbers = set()
    for each in commands(cli):
        flags = [option.opts for option in each.params if isinstance(option, click.Option)]
        names = [parameter.name for parameter in each.params]
        assert len({flag for opts in flags for flag in opts}) == sum(map(len, flags)), each.name
        assert len(set(names)) == len(names), each.name
        for parameter in each.params:
            if isinstance(parameter.type, click.types.FloatParamType):
                numbers.add(f"{each.name} --{parameter.name}")
                assert isinstance(parameter.type, Number), (each.name, parameter.name)
    assert numbers >= {"report --threshold", "gate --required_pass_rate"}
    for text in ("nan", "-NaN", "inf", "-inf", "1e400"):
        with pytest.raises(click.BadParameter):
            Number(0, 1).convert(text, None, None)
    assert Number(0, 1).convert("0.1", None, None) == 0.1


def test_several_urls_with_different_values_of_one_secret_are_refused(tmp_path: Path) -> None:
    """All of them would be sent with the value of the first."""
    urls = [f"http://127.0.0.1:9/{number}?api_key=k-12345678{number}" for number in (1, 2)]
    with chdir(tmp_path), pytest.raises(InvalidInput, match="different values of api_key") as raised:
        cli.main(["capture", "http", *urls, "--secret", "api_key"], standalone_mode=False)
    assert "k-12345678" not in str(raised.value)
