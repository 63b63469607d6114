"""The options of curl: their letters, which of them take a value, and how each is handled here."""

from collections.abc import Mapping

_LETTERS = (
    "X=request H=header d=data u=user b=cookie F=form k=insecure L=location G=get I=head A=user-agent "
    "e=referer m=max-time T=upload-file r=range x=proxy o=output w=write-out c=cookie-jar E=cert "
    "K=config D=dump-header n=netrc z=time-cond C=continue-at s=silent S=show-error v=verbose i=include "
    "f=fail O=remote-name g=globoff N=no-buffer #=progress-bar J=remote-header-name R=remote-time "
    "0=http1.0 1=tlsv1 4=ipv4 6=ipv6 q=disable j=junk-session-cookies a=append Z=parallel U=proxy-user "
    "y=speed-time Y=speed-limit p=proxytunnel"
)
SHORT = dict(pair.split("=") for pair in _LETTERS.split())
FLAGS = {"insecure", "location", "get", "head", "digest", "http2", "http2-prior-knowledge"}
_TAKES_VALUE = {
    *("request", "header", "data", "data-raw", "data-ascii", "data-binary", "data-urlencode", "json", "user"),
    *("cookie", "form", "form-string", "user-agent", "referer", "max-time", "upload-file", "range", "url"),
    *("url-query", "oauth2-bearer", "max-redirs", "retry", "cacert", "cert"),
}
_WITHOUT_EFFECT = {
    *("silent", "show-error", "verbose", "include", "show-headers", "fail", "fail-with-body", "fail-early"),
    *("globoff", "buffer", "progress-bar", "progress-meter", "remote-name", "remote-name-all"),
    *("remote-header-name", "remote-time", "http1.0", "http1.1", "tlsv1", "tlsv1.2", "tlsv1.3", "ipv4"),
    *("ipv6", "disable", "compressed", "create-dirs", "keepalive", "tcp-nodelay", "parallel", "basic"),
    *("path-as-is", "styled-output", "retry-connrefused", "retry-all-errors", "alpn"),
    *("sessionid", "tcp-fastopen", "ssl-reqd", "anyauth", "junk-session-cookies"),
}
_WITHOUT_EFFECT_VALUED = {
    *("output", "write-out", "dump-header", "connect-timeout", "keepalive-time", "limit-rate", "speed-time"),
    *("speed-limit", "retry-delay", "retry-max-time", "stderr", "trace", "trace-ascii", "output-dir", "rate"),
    *("max-filesize", "parallel-max", "expect100-timeout", "tls-max", "happy-eyeballs-timeout-ms"),
}
"""Options that change neither the request nor the answer, only how long it takes or what is printed."""
_NO_COUNTERPART: Mapping[str, str] = {
    **dict.fromkeys(("location-trusted", "netrc", "netrc-optional", "ntlm", "negotiate", "delegation"), ""),
    **dict.fromkeys(("proxytunnel", "append", "http3", "http3-only", "ssl", "crlf"), ""),
    **dict.fromkeys(("post301", "post302", "post303"), ""),
}
_NO_COUNTERPART_VALUED: Mapping[str, str] = {
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
NO_COUNTERPART = {**_NO_COUNTERPART, **_NO_COUNTERPART_VALUED}
"""What to do about an option that is left out."""

_VALUED = {*_TAKES_VALUE, *_WITHOUT_EFFECT_VALUED, *_NO_COUNTERPART_VALUED}
_SWITCHES = {*FLAGS, *_WITHOUT_EFFECT}
NAMES = {*_VALUED, *_SWITCHES, *(f"no-{name}" for name in _SWITCHES), *_NO_COUNTERPART}
GETOPT_NAMES = [f"{name}=" if name in _VALUED else name for name in NAMES]
GETOPT_LETTERS = "".join(f"{letter}:" if name in _VALUED else letter for letter, name in SHORT.items())
