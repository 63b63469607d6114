"""The configuration: found, read, and refused with everything that is wrong with it."""

from pathlib import Path

import pytest
from storehelp import write

from baselinekit.errors import InvalidInput
from baselinekit.model.recipes import Config, Variable
from baselinekit.store.project import load_config, nearest_config


def test_nearest_config_looks_upward(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    assert not (nearest_config(str(tmp_path / "a/b")) or "").startswith(str(tmp_path))
    write(tmp_path, "baselinekit.yaml", "")
    assert nearest_config(str(tmp_path / "a/b")) == str(tmp_path / "baselinekit.yaml")
    write(tmp_path, "a/baselinekit.yaml", "")
    assert nearest_config(str(tmp_path / "a/b")) == str(tmp_path / "a/baselinekit.yaml")


def test_load_config_reads_every_section(tmp_path: Path) -> None:
    write(tmp_path, "empty.yaml", "# nothing yet\n")
    assert load_config(str(tmp_path / "empty.yaml")) == Config()
    text = """
base_url: http://127.0.0.1:8000
record: daily
variables:
  plain: 7
  token: {from_env: API_TOKEN, secret: true, hosts: [x.org]}
environments:
  staging: {base_url: "https://staging.x.org", variables: {token: {from_env: STAGING}}}
placeholders: {order_no: '^ORD-\\d{8}$'}
commands: {tool: [tool], other: {argv: [x], env: [A]}}
allow_hosts:
"""
    write(tmp_path, "full.yaml", text)
    config = load_config(str(tmp_path / "full.yaml"))
    assert config.record == "daily"
    assert config.variables["plain"] == 7
    assert config.variables["token"] == Variable(from_env="API_TOKEN", secret=True, hosts=["x.org"])
    assert config.environments["staging"].variables["token"] == Variable(from_env="STAGING")
    assert config.placeholders == {"order_no": r"^ORD-\d{8}$"}
    assert config.commands["tool"] == ["tool"]
    assert config.allow_hosts is None


WRONG = [
    ("notify: {}", "BK108 f.yaml:1:.*: a notification needs a `command` or a `webhook`"),
    ("notify: {command: []}", "BK108 f.yaml:1:19: `command` names no program"),
    ("base_url: 'http://x:99999'", "BK108 f.yaml:1:11: not an absolute http or https address"),
    ("base_url: 'http://x/?a=1'", r"BK108 f.yaml:1:11: a base_url has no `\?` and no `#`"),
    ("environments: {s: {base_url: 'http://a:b@x'}}", "BK108 f.yaml:1:30: the address contains credentials"),
    ("variables: {any_id: 1}", "BK108 f.yaml:1:21: 'any_id' cannot be a variable: names with any_"),
    ("variables: {a: {from_env: A, secret: 'yes'}}", "BK105 f.yaml:1:38: expected true or false"),
    ("version: 1\n---\nversion: 1", "BK110 f.yaml:1:1: more than one document"),
    ("limits: {files: 1000001}", "BK105 f.yaml:1:17: expected an integer from 1 to 1,000,000, found 1000001"),
]


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_load_config_reports_a_mistake_at_its_place(text: str, message: str, tmp_path: Path) -> None:
    write(tmp_path, "f.yaml", text)
    with pytest.raises(InvalidInput, match=message.replace("f.yaml", ".*f.yaml", 1)):
        load_config(str(tmp_path / "f.yaml"))
