"""The files that an OpenAPI document refers to, taken into it: every reference is one within the document
then, and a place in it leads back to its file."""

import posixpath
import re
from collections.abc import Sequence
from urllib.parse import quote, unquote

from baselinekit.errors import BaselinekitError
from baselinekit.importers.drafts import ImportChoices, SourceText
from baselinekit.model.values import Json, Path

_ELSEWHERE = re.compile(r"""\$ref["']?\s*:\s*["']?(?![#"'\s])""")
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:|//")
_VALUES = frozenset(("example", "default", "const", "enum", "value"))
"""Below these stand values of the service: what looks like a reference there is none."""
_FILES = "\0files"
_MOST = 1000


class Bundle:
    """`root`: the document with its files; `unreached`: of a reference that leads nowhere, why, and what to
    do about it."""

    def __init__(self, source: SourceText, choices: ImportChoices):
        self._source, self._beside = source, choices.beside
        self._name = posixpath.basename(source.name)
        self._files: dict[str, SourceText] = {}
        self._broken: dict[str, tuple[str, str]] = {}
        self.unreached: dict[str, tuple[str, str]] = {}
        self.root: dict[str, Json] = source.value
        if _ELSEWHERE.search(source.text):
            self.root = self._taken_in(source.value, self._name)
            taken: dict[str, Json] = {}
            while left := [name for name in self._files if name not in taken]:
                for name in left:
                    taken[name] = self._taken_in(self._files[name].value, name)
            self.root[_FILES] = taken

    def _taken_in(self, value: Json, name: str) -> Json:
        """What stands in a file, with its references as the whole has them."""
        if isinstance(value, list):
            return [self._taken_in(item, name) for item in value]
        if not isinstance(value, dict):
            return value
        taken = {key: item if key in _VALUES else self._taken_in(item, name) for key, item in value.items()}
        if isinstance(reference := value.get("$ref"), str):
            taken["$ref"] = self._within(reference, name)
        return taken

    def _within(self, reference: str, name: str) -> str:
        """The same reference, of a file, from the root of the whole."""
        path, _, fragment = reference.partition("#")
        if _ADDRESS.match(path):
            hint = "save it beside the document, and refer to it by its name"
            self.unreached[reference] = (f"refers to {reference}, which is not fetched", hint)
            return reference
        path = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(path))) if path else name
        if path == self._name:  # a fragment of the document itself is judged where it is followed
            return f"#{fragment}"
        if fragment and not fragment.startswith("/"):
            what, hint = (
                f"refers to {reference}, which is no path",
                "refer to it as in #/components/schemas/Name",
            )
            self.unreached[reference] = (what, hint)
            return reference
        if not self._is_loaded(path):
            self.unreached[f"{path}#{fragment}"] = self._broken[path]
            return f"{path}#{fragment}"
        return f"#/{_FILES}/{quote(path.replace('~', '~0').replace('/', '~1'), safe='~')}{fragment}"

    def _is_loaded(self, path: str) -> bool:
        if path in self._files or path in self._broken:
            return path in self._files
        try:
            if len(self._files) >= _MOST:
                self._broken[path] = (f"refers to more than {_MOST:,} files", "bundle the document into one")
                return False
            source = SourceText(self._called(path), self._beside(self._source.name, path))
            if source.value is None:
                self._broken[path] = (f"refers to {path}, in which nothing stands", "mend the reference")
                return False
        except BaselinekitError as error:
            first = error.problems[0]
            where = f"{first.place}: " if first.place else ""
            self._broken[path] = (
                f"refers to {path}, which cannot be used: {where}{first.message}",
                first.hint,
            )
            return False
        self._files[path] = source
        return True

    def _called(self, path: str) -> str:
        """A file as it is called from where the operator is."""
        return posixpath.normpath(posixpath.join(posixpath.dirname(self._source.name), path))

    def places(self, paths: Sequence[Path]) -> list[tuple[str, int]]:
        """Where each path leads: a file and a line."""
        found: dict[int, tuple[str, int]] = {}
        for name in {self._file_of(path) for path in paths}:
            source = self._files[name] if name else self._source
            numbers = [number for number, path in enumerate(paths) if self._file_of(path) == name]
            lines = source.lines([paths[number][2 if name else 0 :] for number in numbers])
            found |= {number: (source.name, line) for number, line in zip(numbers, lines, strict=True)}
        return [found[number] for number in range(len(paths))]

    @staticmethod
    def _file_of(path: Path) -> str:
        return str(path[1]) if path[:1] == (_FILES,) and len(path) > 1 else ""


def shown(reference: str) -> str:
    """A reference as its file has it, as far as that can be told."""
    if not reference.startswith(f"#/{_FILES}/"):
        return reference
    name, slash, rest = reference.removeprefix(f"#/{_FILES}/").partition("/")
    return f"{unquote(name).replace('~1', '/').replace('~0', '~')}{'#/' if slash else ''}{rest}"
