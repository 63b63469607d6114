"""The value at a place of a file made another one: what is equal keeps its bytes, its comments and its style.

The result is read again and must be the file with exactly this change. Where the nicest way to write it
fails that test, the parts that it fails on are found and written more plainly, and no others.
"""

from collections.abc import Iterator, Sequence

from baselinekit.documents.changes import (
    Change,
    Hints,
    at_place,
    change,
    looked_up,
    only,
    plainer,
    rooted,
    same,
    sites,
)
from baselinekit.documents.languages import Language
from baselinekit.documents.layout import Layout, Unplannable
from baselinekit.documents.marks import mark
from baselinekit.documents.rewriting import Rewriter, paths_of
from baselinekit.documents.sharing import Shared, parted, shared
from baselinekit.documents.splice import apply, value_at
from baselinekit.errors import BaselinekitError, NotRecorded, Problem
from baselinekit.model.edits import Edit
from baselinekit.model.values import Json, Path

_MOST_MENDED = 16
"""Parts of one file that are written more plainly one by one, before all of it is."""

_MOST_READ = 20_000_000
"""Characters that are read again in all, while such parts are looked for."""

_NOTHING = Hints()


def renewed(
    body: str, document: int, language: Language, path: Path, new: Json, hints: Hints = _NOTHING
) -> str:
    """The text in which the value at a path is another. NotRecorded: that cannot be had."""
    documents = language.load(body, "")
    try:
        old = value_at(documents[document], path)
    except (KeyError, TypeError):
        return apply(body, [Edit(path, new)], document, language, hints.siblings)
    except IndexError:
        raise _impossible(path) from None
    found = change(old, new, hints)
    if found is None:
        return body
    work = _Work(body, language, document, documents, hints.ordered)
    for plan in work.plans(rooted(found, documents[document], path), path):
        text = work.attempt(plan)
        if text is not None:
            return text
    raise _impossible(path)


def _impossible(path: Path) -> NotRecorded:
    what = f"{'.'.join(map(str, path)) or 'the file'} cannot be changed without touching something else"
    return NotRecorded(
        Problem("BK122", what, "write that part of the file without anchors, tags or `?` keys")
    )


class _Work:
    """One file, and the ways to write a change into it."""

    def __init__(
        self, body: str, language: Language, document: int, documents: Sequence[Json], ordered: bool
    ):
        self.body = body
        self.language = language
        self.document = document
        self.documents = list(documents)
        self.old = self.documents[document]
        self.ordered = ordered
        self.tries = max(8, _MOST_READ // (len(body) + 1))
        self.shared: list[Shared] = shared(language.events(body), document) if "&" in body else []

    def plans(self, whole: Change, top: Path) -> Iterator[Change]:
        """The nicest first. What fails is made plainer, or the value around it is, up to the one at `top`."""
        yield whole
        for _ in range(_MOST_MENDED):
            culprit = self.culprit(whole) if self.tries > 0 else None
            plainer = None if culprit is None else _mended(whole, culprit, top)
            if plainer is None:
                break
            whole = plainer
            yield whole
        last = looked_up(whole, top) or whole
        for plainly in (False, True):
            yield at_place(whole, top, Change(last.value, plainly=plainly))

    def attempt(self, whole: Change) -> str | None:
        """The text with the change in it, if it reads back so."""
        self.tries -= 1
        try:
            text = self.text(whole)
            after = self.language.load(text, "")
        except (BaselinekitError, Unplannable):
            return None
        wanted = [*self.documents[: self.document], whole.value, *self.documents[self.document + 1 :]]
        return text if same(after, wanted, self.ordered) else None

    def text(self, whole: Change) -> str:
        """The same change as a text, read back by nobody yet."""
        whole, besides, freed = parted(whole, self.shared, self.old, self.language, self.body)
        layout = Layout(self.body, self.language, ())
        layout.freed |= freed
        marks = mark(self.language.events(self.body), self.document, paths_of(whole, self.old))
        if marks.root is None:
            raise Unplannable
        return Rewriter(layout, besides).text(whole, marks.root, self.old)

    def culprit(self, whole: Change) -> Path | None:
        """One of the sites on which it fails, or the place around several that fail together."""
        left = list(sites(whole))
        while len(left) > 1 and self.tries > 0:
            halves = left[: len(left) // 2], left[len(left) // 2 :]
            failing = next((half for half in halves if not self.works(whole, half)), None)
            if failing is None:
                return _around(left)
            left = failing
        return left[0] if len(left) == 1 else None

    def works(self, whole: Change, at: Sequence[Path]) -> bool:
        part = only(whole, self.old, {*at})
        return part is None or self.attempt(part) is not None


def _mended(whole: Change, at: Path, top: Path) -> Change | None:
    """The same with one site written more plainly; None: there is no plainer way."""
    site = looked_up(whole, at)
    while site is None or (site.entries is None and site.plainly):
        if len(at) <= len(top):
            return None
        at = at[:-1]
        site = looked_up(whole, at)
    return at_place(whole, at, plainer(site))


def _around(paths: Sequence[Path]) -> Path:
    first, last = min(paths, key=repr), max(paths, key=repr)
    length = 0
    while length < min(len(first), len(last)) and all(
        path[: length + 1] == first[: length + 1] for path in paths
    ):
        length += 1
    return first[:length]
