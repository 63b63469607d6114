"""The options of curl: their letters, which of them take a value, and how each is handled here."""

from collections.abc import Mapping, Sequence

_LETTERS = (
    "X=request H=header d=data u=user b=cookie F=form k=insecure L=location G=get I=head A=user-agent "
    "e=referer m=max-time T=upload-file r=range x=proxy o=output w=write-out c=cookie-jar E=cert "
    "K=config D=dump-header n=netrc z=time-cond C=continue-at s=silent S=show-error v=verbose i=include "
    "f=fail O=remote-name g=globoff N=no-buffer #=progress-bar J=remote-header-name R=remote-time "
    "0=http1.0 1=tlsv1 4=ipv4 6=ipv6 q=disable j=junk-session-cookies a=append Z=parallel U=proxy-user "
    "y=speed-time Y=speed-limit :=next p=proxytunnel V=version h=help"
)
SHORT = dict(pair.split("=") for pair in _LETTERS.split())
TAKES_VALUE = {
    *("request", "header", "data", "data-raw", "data-ascii", "data-binary", "data-urlencode", "json", "user"),
    *("cookie", "form", "form-string", "user-agent", "referer", "max-time", "upload-file", "range", "url"),
    *("url-query", "oauth2-bearer", "max-redirs", "retry", "cacert", "cert"),
}
WITHOUT_EFFECT = {
    *("silent", "show-error", "verbose", "include", "show-headers", "fail", "fail-with-body", "fail-early"),
    *("globoff", "no-buffer", "progress-bar", "no-progress-meter", "remote-name", "remote-name-all"),
    *("remote-header-name", "remote-time", "http1.0", "http1.1", "tlsv1", "tlsv1.2", "tlsv1.3", "ipv4"),
    *("ipv6", "disable", "compressed", "create-dirs", "no-keepalive", "tcp-nodelay", "parallel", "basic"),
    *("path-as-is", "styled-output", "no-styled-output", "retry-connrefused", "retry-all-errors", "no-alpn"),
    *("no-sessionid", "tcp-fastopen", "ssl-reqd", "anyauth", "junk-session-cookies"),
}
WITHOUT_EFFECT_VALUED = {
    *("output", "write-out", "dump-header", "connect-timeout", "keepalive-time", "limit-rate", "speed-time"),
    *("speed-limit", "retry-delay", "retry-max-time", "stderr", "trace", "trace-ascii", "output-dir", "rate"),
    *("max-filesize", "parallel-max", "expect100-timeout", "tls-max", "happy-eyeballs-timeout-ms"),
}
"""Options that change neither the request nor the answer, only how long it takes or what is printed."""
NO_COUNTERPART: Mapping[str, str] = {
    **dict.fromkeys(("location-trusted", "netrc", "netrc-optional", "ntlm", "negotiate", "delegation"), ""),
    **dict.fromkeys(("proxytunnel", "append", "http3", "http3-only", "ssl", "crlf"), ""),
    **dict.fromkeys(("post301", "post302", "post303"), ""),
}
NO_COUNTERPART_VALUED: Mapping[str, str] = {
    **dict.fromkeys(("proxy", "socks5", "socks5-hostname", "preproxy", "proxy-user"), "set HTTPS_PROXY"),
    **dict.fromkeys(
        ("key", "key-type", "pass", "cert-type", "ciphers", "pinnedpubkey"), "put it into --cert"
    ),
    **dict.fromkeys(
        ("resolve", "connect-to", "interface", "dns-servers", "doh-url"), "ask the address itself"
    ),
    **dict.fromkeys(("unix-socket", "abstract-unix-socket"), "serve it on a port"),
    "cookie-jar": "a flow keeps the cookies that its steps receive",
    "config": "write its options into the line",
    **dict.fromkeys(("aws-sigv4", "time-cond", "continue-at", "request-target", "capath", "crlfile"), ""),
    **dict.fromkeys(("netrc-file", "noproxy", "proxy-header", "variable", "expand-url", "expand-data"), ""),
    **dict.fromkeys(("login-options", "sasl-authzid", "service-name", "etag-compare", "etag-save"), ""),
}
FLAGS = {"insecure", "location", "get", "head", "digest", "http2", "http2-prior-knowledge"}


def has_value(name: str) -> bool:
    return name in TAKES_VALUE or name in WITHOUT_EFFECT_VALUED or name in NO_COUNTERPART_VALUED


def split_our_options(words: Sequence[str], own: Mapping[str, bool]) -> tuple[list[str], list[str]]:
    """The words of a line that are our own options, and the line without them. `own`: our options, and
    whether a value follows; an option that curl knows as well is curl's."""
    own_words: list[str] = []
    line: list[str] = []
    remaining = list(words)
    while remaining:
        word = remaining.pop(0)
        name, equals, _ = word.partition("=")
        is_own = name in own and not _is_known(name[2:]) if name.startswith("--") else False
        target = own_words if is_own else line
        target.append(word)
        if is_own:
            follows = own[name] and not equals
        elif word.startswith("--"):
            follows = has_value(word[2:])
        else:
            follows = _ends_in_value(word)
        if follows and remaining:
            target.append(remaining.pop(0))
    return own_words, line


def _is_known(name: str) -> bool:
    known = (TAKES_VALUE, FLAGS, WITHOUT_EFFECT, WITHOUT_EFFECT_VALUED, NO_COUNTERPART)
    return any(name in names for names in known) or name in NO_COUNTERPART_VALUED


def _ends_in_value(word: str) -> bool:
    """Whether the value of a word such as `-sSX` is the next one."""
    letters = word[1:] if word.startswith("-") else ""
    place = next((n for n, letter in enumerate(letters) if has_value(SHORT.get(letter, ""))), None)
    return place is not None and place == len(letters) - 1
