"""The languages of a file (YAML, JSON, JSON Lines), told by its name: read, marked and written alike."""

from collections.abc import Callable, Iterator

from baselinekit.documents import jsonfile, yamllines, yamlwrite
from baselinekit.documents.marks import Event, Watched
from baselinekit.documents.text import refuse_conflict
from baselinekit.model.values import Json

SUFFIXES = (".yaml", ".yml", ".json")
"""Of the files that are found in folders."""

LINES = ".jsonl"
"""Of JSON Lines, which are read where they are named: others use them for data as well."""


class Language:
    """How a file's text becomes values, and how a value is spelled inside it. This is YAML: what is written
    plainly is read line by line (yamllines.py), all else by libyaml, which is loaded only then, since to load
    it takes as long as to read fifty files. `blocks`: structure may be written by indentation alone."""

    blocks = True
    flow: Callable[[Json], str] = staticmethod(yamlwrite.flow)

    @staticmethod
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
        plain = None if pure else yamllines.read(body, {} if watched is None else watched)
        if plain is not None:
            return plain
        from baselinekit.documents import libyaml

        return libyaml.load(body, file, watched, pure=pure, numbered=numbered)

    @staticmethod
    def events(body: str) -> Iterator[Event]:
        """Every event with its marks, for those who need to know where something stands."""
        from baselinekit.documents import libyaml

        return libyaml.events(body)

    @staticmethod
    def key(name: str, quoted: bool) -> str:
        return yamlwrite.quoted(name) if quoted else yamlwrite.flow(name)


class _JsonText(Language):
    blocks = False
    events = staticmethod(jsonfile.events)
    flow = staticmethod(jsonfile.compact)

    @staticmethod
    def load(body: str, file: str, watched: Watched | None = None, **_: object) -> list[Json]:
        return [jsonfile.load(body, file)]

    @staticmethod
    def key(name: str, quoted: bool) -> str:
        return jsonfile.text(name)


class _JsonLines(_JsonText):
    events = staticmethod(jsonfile.line_events)

    @staticmethod
    def load(body: str, file: str, watched: Watched | None = None, **_: object) -> list[Json]:
        return jsonfile.load_lines(body, file)


YAML, JSON, JSON_LINES = Language(), _JsonText(), _JsonLines()


def language(file: str) -> Language:
    return JSON if file.endswith(".json") else JSON_LINES if file.endswith(LINES) else YAML
