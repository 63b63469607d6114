"""A host is named in the configuration by one line, and every other byte stays."""

from pathlib import Path

import pytest

from baselinekit.store.project import load_config, read_config
from baselinekit.store.writing import add_origin, with_origin

WHERE = "http://10.0.0.5:8080"
CASES = [
    ("", f"version: 1\nbase_url: {WHERE}\n"),
    ("# ours\nversion: 1  # first\n", f"# ours\nversion: 1  # first\nbase_url: {WHERE}\n"),
    (
        "version: 1\nallow_hosts: [a.example]  # these\n",
        'version: 1\nallow_hosts: [a.example, "10.0.0.5:8080"]  # these\n',
    ),
    (
        "allow_hosts:\n  # first\n  - a.example  # one\n  - b.example\nrecord: daily\n",
        "allow_hosts:\n  # first\n  - a.example  # one\n  - b.example\n  - 10.0.0.5:8080\nrecord: daily\n",
    ),
    ("allow_hosts:\r\n- a.example\r\n", "allow_hosts:\r\n- a.example\r\n- 10.0.0.5:8080\r\n"),
    (
        "base_url: https://a.example  # ours\nvariables:\n  u: ada  # her\n",
        f"base_url: https://a.example  # ours\nvariables:\n  u: ada  # her\n  url_10_0_0_5_8080: {WHERE}\n",
    ),
    (
        "base_url: https://a.example\nvariables: {user: ada, url_10_0_0_5_8080: x}\n",
        "base_url: https://a.example\nvariables: {user: ada, url_10_0_0_5_8080: x, url_10_0_0_5_8080_2: "
        f'"{WHERE}"}}\n',
    ),
]


@pytest.mark.parametrize(("before", "after"), CASES)
def test_with_origin_adds_one_line(before: str, after: str) -> None:
    text, _ = with_origin(before, "baselinekit.yaml", WHERE)
    assert text == after
    read_config(text.encode(), "baselinekit.yaml")


def test_add_origin_makes_the_file(tmp_path: Path) -> None:
    line = add_origin(str(tmp_path), None, "http://orders.internal")
    assert line == "base_url: http://orders.internal in baselinekit.yaml"
    second = add_origin(str(tmp_path), "baselinekit.yaml", "https://users.internal:8443")
    assert second == "variables: url_users_internal_8443: https://users.internal:8443 in baselinekit.yaml"
    config = load_config(str(tmp_path / "baselinekit.yaml"))
    assert config.base_url == "http://orders.internal"
    assert config.variables == {"url_users_internal_8443": "https://users.internal:8443"}
