"""Lines of curl as requests: each with what curl itself sends for it."""

import re

import pytest

from baselinekit.errors import InvalidInput
from baselinekit.importers.curl import CurlRequest, parse_words
from baselinekit.importers.shell import next_command, split_commands, split_words
from baselinekit.model.values import Json

FILES = {"body.json": '{"a": 1}', "two.txt": "one\ntwo\n", "headers": "X-A: 1\nX-B: 2\n", "-": "typed"}
URL = "https://a.test/x"
FORM = "application/x-www-form-urlencoded"


def parse_curl(line: str) -> CurlRequest:
    return parse_words(split_words(line), FILES.__getitem__)


REQUESTS: list[tuple[str, dict[str, Json]]] = [
    (f"curl {URL}?a=1&b=2 | jq .", {"url": f"{URL}?a=1&b=2"}),
    (f"curl -H 'X-A: 1' -H 'x-a: 2' {URL}", {"headers": {"X-A": "1, 2"}}),
    (f"curl -H 'X-Empty;' {URL}", {"headers": {"X-Empty": ""}}),
    (f"curl -H 'Accept-Encoding: br' -H 'Content-Length: 3' -H 'Host: a.test' {URL}", {}),
    (
        f"curl -X delete -A me -r 0-9 {URL}",
        {"method": "DELETE", "headers": {"User-Agent": "me", "Range": "bytes=0-9"}},
    ),
    (f"curl -d a=1 -d a=2 {URL}", {"method": "POST", "form": {"a": ["1", "2"]}}),
    (
        f"curl --data-binary @two.txt -H 'Content-Type: text/plain' {URL}",
        {"method": "POST", "headers": {"Content-Type": "text/plain"}, "body": "one\ntwo\n"},
    ),
    (f"curl --data-raw @a=1 {URL}", {"method": "POST", "form": {"@a": "1"}}),
    (
        f"curl -d '{{\"a\": 1}}' {URL}",
        {"method": "POST", "headers": {"Content-Type": FORM}, "body": '{"a": 1}'},
    ),
    (
        f"curl --json '{{\"a\": ' --json '1}}' {URL}",
        {"method": "POST", "headers": {"Accept": "application/json"}, "json": {"a": 1}},
    ),
    (f"curl -G -d q=a {URL}?b=1", {"url": f"{URL}?b=1&q=a"}),
    (f"curl -F a='<two.txt' {URL}", {"method": "POST", "form": {"a": "one\ntwo\n"}, "files": {}}),
    (f"curl -u me:a:b {URL}", {"auth": {"type": "basic", "username": "me", "password": "a:b"}}),
    (f"curl --oauth2-bearer t {URL}", {"auth": {"type": "bearer", "token": "t"}}),
    ("curl https://me:p%40@a.test/x", {"auth": {"type": "basic", "username": "me", "password": "p@"}}),
    (f"curl -b 'a=1; b=x=y' -H 'Cookie: c=3' {URL}", {"cookies": {"a": "1", "b": "x=y", "c": "3"}}),
]


@pytest.mark.parametrize(("line", "expected"), REQUESTS)
def test_parse_curl_line_is_the_request_that_curl_sends(line: str, expected: dict[str, Json]) -> None:
    parsed = parse_curl(line)
    assert (parsed.request, parsed.dropped) == ({"method": "GET", "url": URL, **expected}, ())


def test_parse_curl_with_data_urlencode_encodes_the_value() -> None:
    parsed = parse_curl(f"curl --data-urlencode 'q=a b&c' --data-urlencode 'é' {URL}")
    headers = {"Content-Type": FORM}
    assert parsed.request == {"method": "POST", "url": URL, "headers": headers, "body": "q=a+b%26c&%C3%A9"}


@pytest.mark.parametrize(
    ("line", "execution"),
    [
        ("-L", {"redirects": 10}),
        ("-L --max-redirs 3 --retry 3 -m 2.5", {"redirects": 3, "retries": 3, "timeout": 2.5}),
        ("-k", {"verify": False}),
        ("--cacert ca.pem -E me.pem", {"verify": "ca.pem", "cert": "me.pem"}),
    ],
)
def test_parse_curl_line_with_settings_has_an_execution(line: str, execution: dict[str, Json]) -> None:
    parsed = parse_curl(f"curl {line} {URL}")
    assert (parsed.execution, parsed.dropped) == (execution, ())


@pytest.mark.parametrize(
    ("line", "dropped"),
    [
        ("-b jar", "-b FILE: cookies from a file have no counterpart; write them out: -b 'name=value'"),
        ("-H 'Accept:'", "-H 'Accept:' takes a header away; there is no counterpart"),
        ("-H 'Host: b.test'", "the header Host: b.test cannot be set; ask that host itself"),
        ("https://b.test", "a further URL, https://b.test: write a curl line of its own for it"),
        ("-F 'f=@x;type=image/png'", "-F f: `;type=image/png` has no counterpart"),
        ("-u me", "-u me has no password, for which curl would ask; it is sent empty"),
    ],
)
def test_parse_curl_lists_options_without_a_counterpart(line: str, dropped: str) -> None:
    assert parse_curl(f"curl {URL} {line}").dropped == (dropped,)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f"curl '{URL}", "BK508 a quote is never closed"),
        (f"curl --requst GET {URL}", "BK508 curl: option --requst not recognized"),
        (f"curl {URL} -H", "BK508 curl: option -H requires argument"),
        (f"curl {URL} -m soon", "BK508 --max-time soon is not a number"),
        (f"curl {URL} -m nan", "BK508 --max-time nan is not a number"),
        (f"curl {URL} -L --max-redirs -1", "BK508 --max-redirs -1 is not a number of 0 or more"),
    ],
)
def test_parse_curl_refuses_lines_that_curl_refuses(line: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(message)):
        parse_curl(line)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (r"""a 'b c' "d \"e\" \n" f\ g""", ["a", "b c", r'd "e" \n', "f g"]),
        (r"""$'it\'s é\t\x41\101\U0001F600' x'y'z""", ["it's é\tAA\U0001f600", "xyz"]),
        ("a \\\n  b \\\r\n c", ["a", "b", "c"]),
        ("'two\nlines' b", ["two\nlines", "b"]),
        ("a # b", ["a"]),
        ("a > file", ["a"]),
        ("a && b", ["a"]),
    ],
)
def test_split_words_gives_the_words_of_bash(text: str, words: list[str]) -> None:
    assert split_words(text) == words


def test_split_commands_ends_each_with_its_line() -> None:
    text = "# users\n\ncurl a \\\n  -H b | jq .\n   # more\ncurl c; curl d\n"
    words, end = next_command(text, 0)
    assert words == ["curl", "a", "-H", "b"]
    assert next_command(text, end)[0] == ["curl", "c"]
    assert next_command(text, len(text)) == ([], len(text))
    assert split_commands(text) == [["curl", "a", "-H", "b"], ["curl", "c"]]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("curl ${BASE:-x}/a", "${BASE:-x}"),
        ('curl a -H "t: ${TOKEN}" -d "$A$B"', "${TOKEN}"),
        ("curl a \\\n  $B", "$B"),
        ("curl a -d `date`", "`date`"),
        ("curl '$BASE' -d '{\"$ref\": `1`}'", None),
        ('curl a -d "\\$x costs 5$ or $5"', None),
        ("curl a -d $'it\\'s $x'", None),
        ("curl a#$x", "$x"),
    ],
)
def test_split_words_refuses_what_a_shell_would_fill_in(line: str, found: str | None) -> None:
    if found is None:
        assert split_words(line)[0] == "curl"
        return
    with pytest.raises(InvalidInput) as refused:
        split_words(line)
    assert f"{found} is for the shell to fill in" in str(refused.value)
