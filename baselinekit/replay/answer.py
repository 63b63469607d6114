"""What an answer may be, on whichever way it comes: the limits of its head, and its body taken in whole."""

from collections.abc import Iterable, Iterator

from baselinekit.errors import CannotReplay, cannot
from baselinekit.model.observation import Request
from baselinekit.replay import coding

Headers = list[tuple[bytes, bytes]]
Answer = tuple[int, Headers, bytes]

LARGEST_HEAD = 65_536
LARGEST_STATUS_LINE = 8_192
MOST_INTERIM = 10
_MEND = "correct the service"
_WITHOUT_BODY = frozenset((204, 304))


class Interim:
    """Counts the interim (1xx) answers that come before the answer itself."""

    def __init__(self) -> None:
        self._count = 0

    def another(self) -> None:
        self._count += 1
        if self._count > MOST_INTERIM:
            raise cannot(
                "BK305", f"more than {MOST_INTERIM} interim (1xx) answers came before the answer", _MEND
            )


def has_no_body(request: Request, status: int) -> bool:
    """Whatever its headers say."""
    return request.method == "HEAD" or status in _WITHOUT_BODY


def check_head(reason: bytes, headers: Headers) -> None:
    if sum(len(name) + len(value) + 4 for name, value in headers) > LARGEST_HEAD:
        raise head_too_large()
    if len(reason) > LARGEST_STATUS_LINE:
        what = f"the status line of the answer is larger than {LARGEST_STATUS_LINE:,} bytes"
        raise cannot("BK305", what, _MEND)


def head_too_large() -> CannotReplay:
    return cannot("BK305", f"the headers of the answer are larger than {LARGEST_HEAD:,} bytes", _MEND)


def more_than_announced() -> CannotReplay:
    return cannot("BK304", "more came than the answer that was announced", _MEND)


def whole_body(request: Request, status: int, headers: Headers, chunks: Iterable[bytes]) -> bytes:
    """The body, decoded, and as long as the answer says that it is."""
    if has_no_body(request, status):
        return coding.read(chunks, "", request.max_body)
    stated = stated_length(headers)
    if stated is not None and stated > request.max_body:
        raise coding.too_large(request.max_body)
    codings = b", ".join(value for name, value in headers if name.lower() == b"content-encoding")
    return coding.read(_counted(chunks, stated), codings.decode("latin-1"), request.max_body)


def stated_length(headers: Headers) -> int | None:
    return next((int(value) for name, value in headers if name.lower() == b"content-length"), None)


def _counted(chunks: Iterable[bytes], stated: int | None) -> Iterator[bytes]:
    """The chunks, which together must be as long as Content-Length says: an answer that gives its length in
    two ways is read by its chunks, and could be two answers to whoever reads it otherwise."""
    length = 0
    for chunk in chunks:
        length += len(chunk)
        yield chunk
    if stated is not None and length != stated:
        raise cannot(
            "BK304", f"{length:,} bytes came, and the answer's Content-Length says {stated:,}", _MEND
        )
