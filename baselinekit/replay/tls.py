"""What a TLS connection trusts and shows: certificates from files, or none checked at all."""

import importlib.util
import os
import ssl
from collections.abc import Callable

from baselinekit.errors import cannot


def new_context(
    verify: bool | str, cert: str | None, http2: bool, usual: Callable[[], ssl.SSLContext]
) -> ssl.SSLContext:
    """`verify`: whether to, or a file or folder of authorities; `cert`: a file with our own certificate."""
    if http2 and importlib.util.find_spec("h2") is None:
        raise cannot("BK302", "HTTP/2 needs the package h2", "pip install 'baselinekit[http2]'")
    for file in (verify, cert):
        if isinstance(file, str) and os.path.exists(file) and not _is_readable(file):
            raise cannot("BK302", f"no certificates can be read from {file}: it is no regular file")
    try:
        context = _trusting(verify, usual)
        if cert:
            context.load_cert_chain(cert)
    except OSError as error:
        which = " and ".join(filter(None, (verify if isinstance(verify, str) else "", cert)))
        why = error.strerror or str(error)
        raise cannot("BK302", f"no certificates can be read from {which}: {why}") from None
    return context


def _is_readable(path: str) -> bool:
    """Not a pipe or a device, which would never end (F42)."""
    return os.path.isfile(path) or os.path.isdir(path)


def _trusting(verify: bool | str, usual: Callable[[], ssl.SSLContext]) -> ssl.SSLContext:
    if isinstance(verify, str):
        if os.path.isdir(verify):
            return ssl.create_default_context(capath=verify)
        return ssl.create_default_context(cafile=verify)
    if verify:
        return usual()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
