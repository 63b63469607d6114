"""Secrets that are known by their shape, wherever they stand in a text."""

import re
from collections.abc import Iterator

_EDGE = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"
"""What `\\b` stands for below: where a word begins, also after a line end that is written as an escape."""
_NAMED = (
    r"(?:api[-_]?key|(?:auth|access|refresh|id|session|api)[-_]?token|token|(?:client[-_]?)?secret"
    r"|password|passwd|pwd)"
)
_STANDS_FOR = r"(?![<${*\[])"

_SHAPES = (
    (
        "a JSON Web Token",
        r"\beyJ[A-Za-z0-9_-]{8,1000}\.eyJ[A-Za-z0-9_-]{4,8000}\.[A-Za-z0-9_-]{8,2000}",
    ),
    (
        "a private key",
        r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----"
        r"(?:[A-Za-z0-9+/=\\\s:,-]{0,8000}?-----END [A-Z ]{0,40}KEY-----)?",
    ),
    (
        "an API key",
        r"\b(?:sk|pk|rk)[-_](?:live|test|proj|ant|or)[-_][A-Za-z0-9_-]{16,}"
        r"|\bsk-[A-Za-z0-9]{32,}|\bhf_[A-Za-z0-9]{30,}|\bnpm_[A-Za-z0-9]{36}"
        r"|\bpypi-AgEI[A-Za-z0-9_-]{50,}"
        r"|\bdop_v1_[a-f0-9]{64}|\bSG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64}"
        r"|\bwhsec_[A-Za-z0-9+/=]{24,}",
    ),
    ("a GitHub token", r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{40,})"),
    ("a GitLab token", r"\bglpat-[A-Za-z0-9_-]{20,}"),
    ("an AWS key", r"\b(?:AKIA|ASIA)[0-9A-Z]{16}(?![0-9A-Za-z])"),
    ("a Slack token", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\bxapp-\d-[A-Za-z0-9-]{10,}"),
    (
        "a Google API key",
        r"\bAIza[0-9A-Za-z_-]{35}|\bya29\.[0-9A-Za-z_-]{20,}|\bGOCSPX-[0-9A-Za-z_-]{20,}",
    ),
    (
        "a webhook",
        r"\bhooks\.slack\.com/services/[A-Za-z0-9/]{20,}"
        r"|\bdiscord(?:app)?\.com/api/webhooks/\d+/[A-Za-z0-9_-]{30,}",
    ),
    (
        "a URL with a password",
        r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@\"'<>]{1,200}:[^\s/@\"'<>]{1,200}@",
    ),
    (
        "a signed URL",
        r"(?i:[?&](?:x-(?:amz|goog)-signature|x-amz-security-token|sig)=[A-Za-z0-9%+/_=-]{30,})",
    ),
    (
        "a secret in a URL",
        rf"(?i:[?&;]{_NAMED}=){_STANDS_FOR}(?=[^\s\"'<>&#]{{0,300}}\d)[^\s\"'<>&#]{{8,2000}}",
    ),
    (
        "a credential",
        r"(?i:\b(?:bearer|basic)\s+)(?=[A-Za-z0-9._~+/-]{0,300}\d)[A-Za-z0-9._~+/-]{16,4000}=*",
    ),
    (
        "a secret with its name",
        rf"(?i:(?<![a-z:]){_NAMED})\\?[\"']?\s{{0,3}}[=:]\s{{0,3}}\\?[\"']?{_STANDS_FOR}"
        r"(?=[^\s\"'<>,;&]{0,300}\d)(?=[^\s\"'<>,;&]{0,300}[A-Za-z])[^\s\"'<>,;&\\]{8,2000}",
    ),
)
_EACH = tuple((what, re.compile(pattern.replace(r"\b", _EDGE))) for what, pattern in _SHAPES)
_HINTS = re.compile(
    r"eyJ|-----BEGIN|(?:sk|pk|rk|hf|npm|pypi|v1|SG|whsec|gh[pousr]|pat|glpat|xox[abeoprs]|xapp)[-_.]|AKIA|ASIA|AIza"
    r"|ya29|GOCSPX|webhook|hooks\.|://[^\s/]*@|(?i:sig[a-z]*=|security-token=|bearer|basic|token|secret|passw|pwd"
    r"|api[-_]?key)"
)
"""One look for what every shape has a part of: most texts have nothing of it."""


def shapes_in(text: str) -> Iterator[tuple[int, int, str]]:
    """Where a text holds something of a known shape, and what that is."""
    if _HINTS.search(text):
        for what, pattern in _EACH:
            yield from ((match.start(), match.end(), what) for match in pattern.finditer(text))
