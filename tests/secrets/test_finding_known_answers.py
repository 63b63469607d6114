"""Answers of real servers with and without a secret, and how many are judged wrongly: of those without, none
is refused; of those with, every one is, and no part of the secret is stored."""

from typing import Any

import pytest

from baselinekit.commands.capture import hide_secrets
from baselinekit.errors import Refused
from baselinekit.model.values import Json
from baselinekit.secrets.variables import Redactor

KEY = "bVKI7ya5iQMLSzhIQtXRNxeBWbd7RSPjDGLVrSkj"
SESSION = (
    "AQoEXAMPLEH4aoAH0gNCAPyJxz4BlCFFxWNE1OPTgk5TthT+FvwqnKwRcOIfrRh3c/LTo6UDdyJwOOvEVPvLXCrrrUtdnni" * 3
)
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
RANDOM = "q7ZxP0vT4mKs9LwB2nRd8YcFu3"
REQUEST = "KkZlsfgzXpsO5RKiPXHgK4nSgSG9dq4yL3LmmJb7j70VATFF80MK"
METADATA = f"<ResponseMetadata><RequestId>{REQUEST}</RequestId></ResponseMetadata>"

SECRET: list[tuple[Json, str]] = [
    (f"<AccessKey><SecretAccessKey>{KEY}</SecretAccessKey></AccessKey>{METADATA}", KEY),
    (f"<Credentials><SessionToken>{SESSION}</SessionToken></Credentials>", SESSION),
    ("<member><AccessKeyId>AKIARZPUZDIKIIHH6JAQ</AccessKeyId></member>", "AKIARZPUZDIKIIHH6JAQ"),
    ('<user id="7"><api-key>k4hs82jd91</api-key></user>', "k4hs82jd91"),
    ("<config><db:Password>hunter2hunter2</db:Password></config>", "hunter2hunter2"),
    ({"token": "demo-token-ada"}, "demo-token-ada"),
    ({"access_token": JWT, "token_type": "Bearer", "expires_in": 3600}, JWT),
    ({"authenticated": True, "value": RANDOM}, RANDOM),
    ({"headers": {"Authorization": "Basic YWRhOmNvcnJlY3QtaG9yc2U="}}, "YWRhOmNvcnJlY3QtaG9yc2U="),
    ({"headers": {"X-Api-Key": "demo-key-1234"}}, "demo-key-1234"),
    ({"db": {"password": "correct-horse"}}, "correct-horse"),
    ({"clientSecret": "abcdefgh12"}, "abcdefgh12"),
    (f"Your key is {RANDOM}, keep it.", RANDOM),
    (f"<input name='csrf' value='{RANDOM}'>", RANDOM),
    ("postgres://ada:hunter2@db.example.com/x", "hunter2"),
    ({"url": "https://a.example.com/f?X-Amz-Signature=" + "0f" * 32}, "0f" * 32),
    ({"config": "api_key=9f8e7d6c5b4a\nmode=fast\n"}, "9f8e7d6c5b4a"),
    ({"pat": "ghp_" + "aB3dE5gH7jK9" * 3}, "ghp_" + "aB3dE5gH7jK9" * 3),
    ({"rows": [{"name": "ada", "private_key": "x9y8z7w6v5"}]}, "x9y8z7w6v5"),
    (f'{{"session":"{RANDOM}"}} in a text', RANDOM),
    ({"user": "ada", "password": "hunter2"}, "hunter2"),
    ({"client_id": "web", "client_secret": "abc123"}, "abc123"),
    ({"request": {"Authorization": "Bearer s3cr3ttoken"}}, "s3cr3ttoken"),
    ({"echo": {"set-cookie": "sessionid=abcdef1234; Path=/"}}, "abcdef1234"),
]
ORDINARY: list[Json] = [
    "<GetCallerIdentityResult><UserId>AKIAIOSFODNN7EXAMPLE</UserId></GetCallerIdentityResult>" + METADATA,
    f"<ListUsersResponse><IsTruncated>false</IsTruncated></ListUsersResponse>{METADATA}",
    "<User><UserId>xp2ebhbi3wwqxmzhslc0</UserId><Arn>arn:aws:iam::123456789012:user/ada</Arn></User>",
    f"<ListBucketResult><NextContinuationToken>{RANDOM}1</NextContinuationToken></ListBucketResult>",
    "<Contents><ETag>&quot;d41d8cd98f00b204e9800998ecf8427e&quot;</ETag></Contents>",
    f'<script nonce="abc" integrity="sha384-{KEY}AAAAAAAAAAAAAAAAAAAAAAAA"></script>',
    f'<a id="{RANDOM}" href="/x/{RANDOM}">more</a>',
    f'{{"requestId":"{REQUEST}","next_cursor":"{RANDOM}"}} in a text',
    {"id": RANDOM, "etag": f'W/"{RANDOM}"', "sha": "9fceb02d0ae598e95dc970b74767f19372d61af8"},
    {"uuid": "550e8400-e29b-41d4-a716-446655440000", "created": "2026-11-22T22:42:26.752118Z"},
    {"headers": {"User-Agent": "curl/7.88.1", "Accept": "*/*", "Host": "127.0.0.1:8101"}},
    {"nextPageToken": RANDOM, "items": []},
    {"type": "Zone", "kind": "Native", "soa_edit_api": "DEFAULT", "dnssec": False, "notified_serial": 0},
    {"avatar": f"https://cdn.example.com/u/{RANDOM}.png", "bio": "keeps a secret garden"},
    {"error": "the password must have 8 characters or more", "code": "PASSWORD_TOO_SHORT"},
    {"version": "1.4.2+20261122.9fceb02", "commit": "9fceb02d0ae5", "go": "go1.21.3"},
    {"Tokens": 1024, "max_tokens": "4096", "tokenizer": "cl100k_base"},
    "# HELP process_cpu_seconds_total Total user and system CPU time\nprocess_cpu_seconds_total 0.42\n",
    {"digest": "sha256:" + "ab" * 32, "name": "library/alpine", "tags": ["latest", "3.20"]},
    {"password": "string", "token": "none", "secret": "hidden", "api_key": "demo", "access_token": "bearer"},
    {"authorization": "none", "cookies": {"consent": "yes"}, "cookie": "no", "credentials": "omit"},
    {"image": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"},
]


def stored(answer: Json, *, hide: bool) -> Json:
    output: dict[str, Any] = {"status": 200, "body": answer}
    return hide_secrets(output, Redactor({}), hide=hide, allow=False)[0]


def test_hide_secrets_leaves_ordinary_answers() -> None:
    refused = []
    for answer in ORDINARY:
        try:
            stored(answer, hide=False)
        except Refused as error:
            refused.append(str(error))
        assert stored(answer, hide=True) == {"status": 200, "body": answer}
    assert refused == []
    assert (len(SECRET), len(ORDINARY)) == (24, 22)


@pytest.mark.parametrize(("answer", "secret"), SECRET, ids=[str(number) for number in range(len(SECRET))])
def test_hide_secrets_refuses_or_hides_secret(answer: Json, secret: str) -> None:
    with pytest.raises(Refused, match="--placeholder-like secrets"):
        stored(answer, hide=False)
    found = stored(answer, hide=True)
    assert secret not in str(found)
    assert "<<any_" in str(found)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (
            f"<a><SecretAccessKey>{KEY}</SecretAccessKey></a>",
            "<a><SecretAccessKey><<any_token>></SecretAccessKey></a>",
        ),
        (f"Your key is {RANDOM}, keep it.", "Your key is <<any_token>>, keep it."),
        ({"access_token": JWT}, {"access_token": "<<any_jwt>>"}),
        ({"password": "correct horse"}, {"password": "<<any_nonempty_string>>"}),
        ("api_key=9f8e7d6c5b4a at <<any_uuid>>", "api_key=<<any_hex>> at <<any_uuid>>"),
    ],
)
def test_hide_secrets_replaces_only_the_secret(answer: Json, expected: Json) -> None:
    assert stored(answer, hide=True) == {"status": 200, "body": expected}
