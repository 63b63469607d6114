"""A date of a header: when a cookie ends, when to come back."""

from datetime import UTC

_LONGEST = 100


def http_date(text: str) -> float | None:
    """Seconds since 1970; None if it is no date. One without a zone means UTC, wherever this machine is."""
    if not text:
        return None
    from email.utils import parsedate_to_datetime

    try:
        moment = parsedate_to_datetime(text[:_LONGEST])
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
