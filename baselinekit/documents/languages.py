"""The two languages of a file, YAML and JSON, told by its name: read, marked and written alike."""

import json
from collections.abc import Iterator
from typing import Protocol

from baselinekit.documents import jsonfile, yamlfile, yamlwrite
from baselinekit.documents.marks import Event, Watched
from baselinekit.model.values import Json

SUFFIXES = (".yaml", ".yml", ".json")


class Language(Protocol):
    """How a file's text becomes values, and how a value is spelled inside it. `blocks`: whether structure
    may be written by indentation alone."""

    blocks: bool

    def load(
        self, body: str, file: str, watched: Watched | None = None, *, numbered: frozenset[str] = frozenset()
    ) -> list[Json]: ...
    def events(self, body: str) -> Iterator[Event]: ...
    def flow(self, value: Json) -> str: ...
    def key(self, name: str, quoted: bool) -> str: ...


class _Yaml:
    blocks = True
    load = staticmethod(yamlfile.load)
    events = staticmethod(yamlfile.events)
    flow = staticmethod(yamlwrite.flow)

    @staticmethod
    def key(name: str, quoted: bool) -> str:
        return yamlwrite.quoted(name) if quoted else yamlwrite.flow(name)


class _JsonText:
    blocks = False
    events = staticmethod(jsonfile.events)
    flow = staticmethod(jsonfile.compact)

    @staticmethod
    def load(
        body: str, file: str, watched: Watched | None = None, *, numbered: frozenset[str] = frozenset()
    ) -> list[Json]:
        return [jsonfile.load(body, file)]

    @staticmethod
    def key(name: str, quoted: bool) -> str:
        return jsonfile.text(name)


YAML: Language = _Yaml()
JSON: Language = _JsonText()


def language(file: str) -> Language:
    return JSON if file.endswith(".json") else YAML


def canonical(value: Json) -> str:
    """A text that two values share only when they are the same, types included; key order does not count."""
    return json.dumps(value, sort_keys=True, default=repr)
