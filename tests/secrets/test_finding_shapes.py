"""What looks like a secret by what it is called, or by its shape."""

import time

import pytest

from baselinekit.secrets.finding import (
    RANDOM,
    is_secret_header,
    is_secret_key,
    likeness,
    mask_secrets,
    may_be_random,
    spans,
)


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("Authorization", True),
        ("proxy-authorization", True),
        ("Cookie", True),
        ("Set-Cookie", True),
        ("X-API-Key", True),
        ("apikey", True),
        ("X-Auth-Token", True),
        ("PRIVATE-TOKEN", True),
        ("X-Amz-Security-Token", True),
        ("X-XSRF-TOKEN", True),
        ("Ocp-Apim-Subscription-Key", True),
        ("X-Client-Secret", True),
        ("Content-Type", False),
        ("Idempotency-Key", False),
        ("X-Request-Id", False),
        ("Sec-WebSocket-Key", False),
        ("Tokenizer", False),
    ],
)
def test_is_secret_header_by_name(name: str, secret: bool) -> None:
    assert is_secret_header(name) is secret


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJlLWhlcmU", "a JSON Web Token"),
        ("-----BEGIN RSA PRIVATE KEY-----", "a private key"),
        ("key=sk_live_" + "a1" * 12, "an API key"),
        ("sk-" + "aB3" * 16, "an API key"),
        ("ghp_" + "a" * 36, "a GitHub token"),
        ("AKIA" + "A1" * 8, "an AWS key"),
        ("xoxb-1234567890-abc", "a Slack token"),
        ("postgres://app:hunter2@db.example.com/x", "a URL with a password"),
        ("glpat-" + "a1B2c" * 4, "a GitLab token"),
        ("AIza" + "a1B2c" * 7, "a Google API key"),
        ("https://hooks.slack.com/services/T00000000/B00000000/" + "a1" * 12, "a webhook"),
        ("/a?X-Amz-Signature=" + "0123456789abcdef" * 4, "a signed URL"),
        ("/a?b=c&access_token=abcdef0123", "a secret in a URL"),
        ("Authorization: Bearer abcdef0123456789", "a credential"),
        ("PASSWORD='hunter2hunter2'", "a secret with its name"),
        ('{"client_secret": "hunter2hunter2"}', "a secret with its name"),
        ("the bearer responsibilities", None),
        ("password: at least 8 characters", None),
        ("password=<<any_string>>", None),
        ("token: {{token123}}", None),
        ("arn:aws:secretsmanager:eu-west-1:123456789012:secret:database-a1b2c3", None),
        ("https://example.com:8080/a@b", None),
        ("a task-list, a risk-free sketch", None),
        ("3f2504e0-4f89-41d3-9a0c-0305e82c3301", None),
        ("d41d8cd98f00b204e9800998ecf8427e", None),
    ],
)
def test_spans_finds_secret_shapes(text: str, what: str | None) -> None:
    found = [kind for _, _, kind in spans(f"see {text} there") if kind != RANDOM]
    assert next(iter(found), None) == what


@pytest.mark.slow
def test_spans_is_fast_on_hostile_text() -> None:
    started = time.process_time()
    for text in (
        "eyJaaaaaaaa-" * 20_000,
        "-----BEGIN " * 20_000,
        "a://b:" * 40_000,
        "sk-" * 80_000,
        "token=" * 40_000,
        "%41a" * 60_000,
        "a" * 200_000 + ".",
        "/a.b" * 50_000,
        'W/"' * 60_000,
    ):
        list(spans(text))
    assert time.process_time() - started < 5


@pytest.mark.parametrize("name", ["password", "apiKey", "client_secret", "access-token", "SecretAccessKey"])
def test_is_secret_key_by_name(name: str) -> None:
    assert is_secret_key(name)
    assert not may_be_random(name)
    assert likeness("short-or-plain", ("body", name)) == "a value with the name of a secret"
    assert likeness("short", ("body", name)) is None


@pytest.mark.parametrize(
    "name", ["id", "user_id", "ETag", "nodeId", "sha256", "CodeSha256", "next_page_token"]
)
def test_may_be_random_by_name(name: str) -> None:
    assert may_be_random(name)
    assert not is_secret_key(name)


def test_mask_secrets_covers_each_secret_only() -> None:
    github, key = "ghp_" + "a1" * 18, "sk_live_" + "b2" * 12
    assert mask_secrets(f"from {github} to {key}!") == "from *** (a GitHub token) to *** (an API key)!"
    assert mask_secrets(repr(f"x\n{github}")) == r"'x\n*** (a GitHub token)'", "also after an escape"
    assert mask_secrets("nothing to hide") == "nothing to hide"
    assert mask_secrets(mask_secrets(f"{github}")) == mask_secrets(github)
