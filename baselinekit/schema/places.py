"""Where a problem stands: from a path into a document to file, line and column."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from baselinekit.documents.languages import Language, language
from baselinekit.documents.marks import MAPPING, SEQUENCE, MarkedNode, Marks, mark_each
from baselinekit.documents.text import place
from baselinekit.errors import FirstOfEach, Problem
from baselinekit.model.values import Path


def below(problems: Sequence[Problem], at: Path) -> list[Problem]:
    """The same problems, of what stands at a path."""
    return [replace(problem, at=(*at, *(problem.at or ()))) for problem in problems]


def named_at(problem: Problem, at: Path) -> Problem:
    """What is wrong with a file, told where that file is named."""
    what = f"{problem.place}: {problem.message}" if problem.place else problem.message
    return replace(problem, message=what, place=None, at=at)


def place_problems(
    body: str, file: str, problems: Mapping[int, Sequence[Problem]], written_in: Language | None = None
) -> list[Problem]:
    """Problems with paths into the documents of a text, by document, as problems with places: the first of
    them, and how many more there are. An unknown key is at the key itself."""
    first = FirstOfEach()
    told = {n: [problem for problem in few if first.takes(file, problem)] for n, few in problems.items()}
    ways = {n: [problem.at or () for problem in few] for n, few in told.items() if few}
    found = mark_each((written_in or language(file)).events(body), ways)
    placed: list[tuple[int, Problem]] = []
    for document, few in told.items():
        marks = found.get(document, Marks())
        for problem in few:
            nodes, rest = marks.reach(problem.at or ())
            index = position(nodes[-1], at_key=problem.code == "BK103" and not rest) if nodes else 0
            placed.append((index, replace(problem, place=place(file, body, index), at=None)))
    return [*(problem for _, problem in sorted(placed, key=lambda pair: pair[0])), *first.rest()]


def position(node: MarkedNode, at_key: bool = False) -> int:
    """Where to point: at a value on its line, at the key of what stands on the lines below it."""
    below = node.kind in (MAPPING, SEQUENCE) and node.style != "flow"
    return node.key if node.key >= 0 and (at_key or below) else node.start
