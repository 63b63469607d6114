"""YAML: what is written plainly is read line by line (lines.py), all else by libyaml (libyaml.py), which is
loaded only then: to load it takes as long as to read fifty files."""

from collections.abc import Iterator

from baselinekit.documents import lines
from baselinekit.documents.marks import Event, Watched
from baselinekit.documents.text import refuse_conflict
from baselinekit.model.values import Json


def load(
    body: str,
    file: str,
    watched: Watched | None = None,
    *,
    pure: bool = False,
    numbered: frozenset[str] = frozenset(),
) -> list[Json]:
    """The values of a file's documents, and where those of the `watched` keys stand. `pure` reads without
    libyaml, as on a machine that has none. Below the `numbered` keys numbers may be keys, as texts."""
    refuse_conflict(body, file)
    plain = None if pure else lines.read(body, {} if watched is None else watched)
    if plain is not None:
        return plain
    from baselinekit.documents import libyaml

    return libyaml.load(body, file, watched, pure=pure, numbered=numbered)


def events(body: str, *, pure: bool = False) -> Iterator[Event]:
    """Every event with its marks, for those who need to know where something stands."""
    from baselinekit.documents import libyaml

    return libyaml.events(body, pure=pure)
