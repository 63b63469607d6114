"""Asking again: when nothing was sent, and when the server says that it was too busy and asking twice does no
harm. All tries and waits happen within the time limit of the request."""

import random
import time
from collections.abc import Callable
from dataclasses import replace

from baselinekit.errors import CannotReplay
from baselinekit.model.observation import Request, Response
from baselinekit.replay.httpdate import http_date

IDEMPOTENT = frozenset(("GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"))
_TOO_BUSY = frozenset((429, 502, 503, 504))
_LONGEST_WAIT = 30.0
_WAITS = (0.5, 1.0, 2.0, 4.0, 8.0)


def ask_with_retries(
    request: Request,
    retries: int,
    send: Callable[[Request], Response],
    sleep: Callable[[float], None],
    now: Callable[[], float],
) -> tuple[Response, int]:
    """The answer, and how many tries it took."""
    deadline = time.monotonic() + request.timeout
    left = request.timeout
    tries = 0
    while True:
        tries += 1
        try:
            response = send(replace(request, timeout=left) if tries > 1 else request)
        except CannotReplay as error:
            wait, left = _backoff(tries), deadline - time.monotonic()
            if tries > retries or not _nothing_was_sent(error) or wait >= left:
                raise
        else:
            if tries > retries or response.status not in _TOO_BUSY or request.method not in IDEMPOTENT:
                return response, tries
            asked = _retry_after(response, now())
            wait, left = (_backoff(tries) if asked is None else asked), deadline - time.monotonic()
            if wait > _LONGEST_WAIT or wait >= left:
                return response, tries
        sleep(wait)
        left -= wait


def _nothing_was_sent(error: CannotReplay) -> bool:
    return any(problem.code == "BK301" for problem in error.problems)


def _backoff(tries: int) -> float:
    longest = _WAITS[min(tries, len(_WAITS)) - 1]
    return longest * (0.5 + random.random() / 2)  # so that many workers do not come back at once


def _retry_after(response: Response, now: float) -> float | None:
    """Seconds, or a date."""
    stated = response.header("retry-after").strip()
    if stated.isascii() and stated.isdigit() and len(stated) < 10:
        return float(stated)
    at = http_date(stated)
    return None if at is None else max(0.0, at - now)
