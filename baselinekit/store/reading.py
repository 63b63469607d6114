"""Files to baselines: all of them, or everything that is wrong in any of them, with file, line and column."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from baselinekit.documents.languages import language
from baselinekit.documents.splice import value_at
from baselinekit.documents.text import decode
from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem, Refused
from baselinekit.model.baselines import Baseline, Source
from baselinekit.model.values import Json
from baselinekit.store import outputs, records
from baselinekit.store.files import read
from baselinekit.store.locating import locate, place_problems


def load(files: Sequence[str], root: str) -> list[Baseline]:
    """The baselines of these files, in their order."""
    baselines, error = load_partly(files, root)
    if error is not None:
        raise error
    return baselines


def load_partly(files: Sequence[str], root: str) -> tuple[list[Baseline], BaselinekitError | None]:
    """What can be read, and what is wrong with the rest: for who has more to find fault with."""
    return _load_all(files, lambda file: read(root, file), root)


def parse_record(record: dict[str, Json], root: str) -> Baseline:
    """A record that no file holds yet; it need not have an output."""
    baseline, problems = records.read(record, Source("", form=records.form(record)))
    if baseline is None or problems:
        raise InvalidInput(*problems)
    return baseline


def read_record(source: Source, root: str) -> dict[str, Json]:
    """A record as its file states it, nothing added and nothing left out."""
    document = _documents(read(root, source.file), source.file)[source.document]
    return dict(value_at(document, source.at))


def refuse_taken(id: str, root: str, files: Sequence[str]) -> None:
    """An id is unique in a project, also where upper and lower case are one. Files that cannot be read are
    no obstacle: what is wrong with them is said when they are loaded."""
    for file in files:
        try:
            found = _found(read(root, file), file)
        except BaselinekitError:
            continue
        for source, raw in found:
            taken = records.id_of(raw, source)
            if isinstance(taken, str) and taken.casefold() == id.casefold():
                what = (
                    f"the id {id!r} is taken"
                    if taken == id
                    else f"the id {id!r} is {taken!r} in other letters"
                )
                mend = "choose another --id, or remove that baseline first"
                raise InvalidInput(Problem("BK113", what, mend, locate(source, ("id",), root)))


@dataclass(slots=True)
class _Loaded:
    """What the files gave, and what they did not."""

    baselines: list[Baseline] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    refused: list[Problem] = field(default_factory=list)

    def keep(self, error: BaselinekitError) -> None:
        (self.refused if isinstance(error, Refused) else self.problems).extend(error.problems)

    def error(self) -> BaselinekitError | None:
        if self.problems:
            return InvalidInput(*self.problems, *self.refused)
        return Refused(*self.refused) if self.refused else None


def _load_all(
    files: Sequence[str], content: Callable[[str], bytes], root: str
) -> tuple[list[Baseline], BaselinekitError | None]:
    loaded = _Loaded()
    for file in files:
        try:
            _load_one(content(file), file, root, loaded)
        except (InvalidInput, Refused) as error:
            loaded.keep(error)
    loaded.problems += _same_ids(loaded.baselines, root)
    return loaded.baselines, loaded.error()


def _load_one(data: bytes, file: str, root: str, loaded: _Loaded) -> None:
    for source, raw in _found(data, file):
        baseline, wrong = records.read(raw, source)
        if wrong or baseline is None:
            body = decode(data, file).body
            loaded.problems += place_problems(body, file, source.document, wrong, source.at)
            continue
        try:
            loaded.baselines.append(_with_output(baseline, file, root))
        except (InvalidInput, Refused) as error:
            loaded.keep(_where_it_is_named(error, source, root))


def _where_it_is_named(error: BaselinekitError, source: Source, root: str) -> BaselinekitError:
    """What is wrong with the file of an output is told where it is named, unless the fault is inside."""
    here = locate(source, ("baseline", "output_file"), root)
    return type(error)(
        *(p if p.place and p.place.line else replace(p, place=here, what=_named(p)) for p in error.problems)
    )


def _named(problem: Problem) -> str:
    return f"{problem.place}: {problem.what}" if problem.place else problem.what


def _documents(data: bytes, file: str) -> list[Json]:
    return language(file).load(decode(data, file).body, file)


def _found(data: bytes, file: str) -> list[tuple[Source, dict[str, Json]]]:
    """The records of a file, each with its source."""
    documents = _documents(data, file)
    whole = records.bytes_digest(data)
    try:
        found = [
            (Source(file, document, at, records.form(raw), f"{whole}-{records.digest(raw)}"), raw)
            for document, at, raw in records.records(documents)
        ]
    except records.NotABaselineError as error:
        body = decode(data, file).body
        raise InvalidInput(*place_problems(body, file, error.document, [error.problem])) from None
    if not found:
        mend = "write a baseline into it, or remove it"
        raise InvalidInput(Problem("BK110", "no baseline: the file is empty", mend, Place(file, 1, 1)))
    return found


def _with_output(baseline: Baseline, file: str, root: str) -> Baseline:
    known = baseline.baseline
    if known is None or known.output_file is None:
        return baseline
    return replace(baseline, baseline=replace(known, output=outputs.load(root, file, known.output_file)))


def _same_ids(baselines: Sequence[Baseline], root: str) -> list[Problem]:
    problems = []
    first: dict[str, Baseline] = {}
    for baseline in baselines:
        other = first.setdefault(baseline.id.casefold(), baseline)
        if other is not baseline:
            here, there = (locate(one.source, ("id",), root) for one in (baseline, other))
            what = f"the id {baseline.id!r} is {other.id!r} in other letters"
            if baseline.id == other.id:
                what = f"the id {baseline.id!r} is there twice"
            problems.append(Problem("BK109", what, f"it is at {there} already; rename one of the two", here))
    return problems
