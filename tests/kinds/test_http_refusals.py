"""Which addresses are none."""

import pytest

from baselinekit.kinds.http import check_url


@pytest.mark.parametrize(
    ("url", "hint"),
    [
        ("http://a.test:99999/x", "a port is a number from 1 to 65535"),
        ("http://a.test:0/x", "a port is a number from 1 to 65535"),
        ("http://a.test:x/", "such as https://api.example.com"),
        ("http://a.test:65535/", None),
    ],
)
def test_a_port_ends_at_65535(url: str, hint: str | None) -> None:
    assert next((problem.hint for problem in check_url(url, ())), None) == hint
