"""The records of a file, each with its place and its dialect, and the outputs that stand beside it."""

import hashlib
import marshal
import os
import posixpath
import shlex
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import blake2b
from types import ModuleType
from typing import TypeVar

from baselinekit.documents.jsontext import dump_json, load_json
from baselinekit.documents.languages import language
from baselinekit.documents.text import Watched, decode
from baselinekit.errors import BaselinekitError, InvalidInput, Problem, Refused
from baselinekit.frozen import frozen
from baselinekit.model.baselines import Baseline, Known, Source, Variant, known_path
from baselinekit.model.values import Json, Path, json_type
from baselinekit.store.dialects import native
from baselinekit.store.project import MAX_OUTPUT_BYTES, read
from baselinekit.tree.equality import canonical

# The forms of a baseline's record, one file a form. A record is of the first that recognises it.


@frozen
class RecordDialect:
    """`path`: where something of the model stands in such a record; `described_in`: what holds its id;
    `write`: a `baseline:` as this form has it."""

    recognises: Callable[[dict[str, Json]], bool]
    read: Callable[[dict[str, Json], Source], tuple[Baseline | None, list[Problem]]]
    path: Callable[[Path], Path]
    described_in: Callable[[dict[str, Json]], Json]
    write: Callable[[dict[str, Json]], dict[str, Json]]


def is_response(raw: dict[str, Json]) -> bool:
    """Whether a record has the other form. Asked of every record, most of which have ours."""
    return "test_case" in raw or raw.get("eval_type") == "regression"


def _harness() -> ModuleType:
    from baselinekit.store.dialects import harness  # most projects have no such file

    return harness


DIALECTS = {
    "response": RecordDialect(
        is_response,
        lambda raw, source: _harness().read(raw, source),
        lambda path: _harness().path(path),
        lambda raw: raw.get("metadata"),
        lambda known: _harness().mapping(known),
    ),
    "native": RecordDialect(
        lambda raw: True, native.read, lambda path: path, lambda raw: raw, lambda known: known
    ),
}


# The records of a file, each with its place, and large outputs, which stand in a file beside it.


# What a file holds: its records, each with where it stands, whatever the file's form.

SourceOf = Callable[[int, Path, dict[str, Json]], Source]
WRAPPER = "regression_eval"
RECORD_KEYS = ("last_passed", "failure_count")

OTHERS = {
    "capability_eval": "a capability eval",
    "expected_output": "a capability eval",
    "expected_outcome": "an AgentV eval case",
    "eval_suite": "an eval suite",
    "eval_trigger": "an eval trigger",
    "test_cases": "a file of test cases",
    "evalcases": "an AgentV eval file",
    "triggering": "the eval file of a prompt",
    "cases": "the eval file of a prompt",
}
"""Keys of what is no baseline, and what each of them tells."""
CASE = {"expected", "grader", "graders"}
"""What only an eval case has; a baseline with such a key has a key that nobody knows."""
_VERBS = {"capability_eval": "run", "expected_output": "run", "eval_suite": "run", "test_cases": "run"}
_VERBS |= {"eval_trigger": "gate", "cases": "run", "triggering": "run", "evalcases": "run"}
_OURS = {"id", "current", "baseline", "comparison"}


class NotABaselineError(Exception):
    """A document that holds no baseline; where it begins, and what it looks like."""

    def __init__(self, document: int, problem: Problem):
        super().__init__(problem)
        self.document = document
        self.problem = problem


def sources(data: bytes, body: str, file: str) -> Iterator[tuple[Source, dict[str, Json]]]:
    """Every record of a file: its source and its raw value."""
    documents, source = opened(data, body, file)
    for number, at, raw in records(documents, file):
        yield source(number, at, raw), raw


def case_digest(digest: str) -> str:
    """Of a source's digest the half that is of the record, without the two values that a compare writes:
    whether it is still the same case. The other half is of the whole file."""
    return digest.partition("-")[2]


def current_sources(wanted: Sequence[Source], data: bytes, body: str, file: str) -> dict[str, Source]:
    """Where cases stand in a file now, by what they say. One that is as it was read is not parsed again."""
    whole, found = bytes_digest(data), dict[str, Source]()
    if wanted and all(source.digest.startswith(f"{whole}-") for source in wanted):
        return {case_digest(source.digest): source for source in wanted}
    with suppress(NotABaselineError):
        for source, _ in sources(data, body, file):
            found[case_digest(source.digest)] = source
    return found


def opened(
    data: bytes, body: str, file: str, numbered: frozenset[str] = frozenset()
) -> tuple[list[Json], SourceOf]:
    """The documents of a file, and how to make the source of what stands in one of them."""
    watched: Watched = {key: [] for key in RECORD_KEYS}
    documents = language(file).load(body, file, watched, numbered=numbered)
    spans = {(key, id(box)): span for key, found in watched.items() for box, span in found}
    whole = bytes_digest(data)

    def source(number: int, at: Path, raw: dict[str, Json]) -> Source:
        last_passed, failure_count = (spans.get((key, id(raw.get("metadata")))) for key in RECORD_KEYS)
        about = f"{whole}-{digest(raw)}"
        return Source(file, number, at, form(raw), about, (last_passed, failure_count))

    return documents, source


def holds_any(documents: list[Json]) -> bool:
    """Whether anything there looks like a record, right or wrong: other data may share one key."""
    for document in documents:
        if isinstance(document, dict) and WRAPPER in document:
            return True
        for raw in document if isinstance(document, list) else [document]:
            if isinstance(raw, dict) and (is_response(raw) or len(_OURS & raw.keys()) > 1):
                return True
    return False


def records(documents: list[Json], file: str) -> Iterator[tuple[int, Path, dict[str, Json]]]:
    """Every record: its document, where it stands there, and its raw value. Empty ones are passed over."""
    for number, document in enumerate(documents):
        if document is None:
            continue
        at: Path = ()
        if isinstance(document, dict) and WRAPPER in document:
            other = next((key for key in document if key != WRAPPER), None)
            if other is not None:
                what = f"unknown key {other!r} beside {WRAPPER}"
                raise NotABaselineError(
                    number, Problem("BK103", what, f"move it below {WRAPPER}", at=(other,))
                )
            document, at = document[WRAPPER], (WRAPPER,)
        items = enumerate(document) if isinstance(document, list) else [(None, document)]
        for index, raw in items:
            here = at if index is None else (*at, index)
            if not isinstance(raw, dict) or is_other(raw):
                raise NotABaselineError(number, _other(raw, here, file))
            yield number, here, raw


def form(raw: dict[str, Json]) -> str:
    """Which of the forms a record is written in."""
    return next(name for name, dialect in DIALECTS.items() if dialect.recognises(raw))


def id_of(raw: dict[str, Json], source: Source) -> Json:
    """What stands where a record has its id, before anyone has checked it."""
    about = DIALECTS[source.form].described_in(raw)
    return about.get("id") if isinstance(about, dict) else None


def read_record(raw: dict[str, Json], source: Source) -> tuple[Baseline | None, list[Problem]]:
    """A record by its form: the baseline, and what is wrong with it, with paths as they stand there."""
    return DIALECTS[source.form].read(raw, source)


_COMPRESSED = zlib.compress(b"", 1)[:1]
"""What compressed data begins with. Other begins with the type that it holds, a mapping."""


def packed(raw: dict[str, Json], *, compressed: bool = True) -> bytes:
    """A record in three quarters of the bytes of its text, or compressed in a fifth, which takes four times
    as long to write and twice as long to read; empty where it holds a number that only a Decimal does."""
    try:
        data = marshal.dumps(raw, 2)
    except ValueError:
        return b""
    return zlib.compress(data, 1) if compressed else data


def unpacked(data: bytes) -> dict[str, Json]:
    """What was packed by this process."""
    is_compressed = data[:1] == _COMPRESSED
    raw: dict[str, Json] = marshal.loads(zlib.decompress(data) if is_compressed else data)
    return raw


def place_in(source: Source, path: Path) -> Path:
    """Where something of the model stands in the record's document."""
    return (*source.at, *DIALECTS[source.form].path(path))


def bytes_digest(data: bytes) -> str:
    return blake2b(data, digest_size=12).hexdigest()


def digest(raw: dict[str, Json]) -> str:
    """Of all of a record but the two values that a compare writes: whether it is still the same case."""
    metadata = raw.get("metadata")
    if isinstance(metadata, dict):
        rest = {key: value for key, value in metadata.items() if key not in RECORD_KEYS}
        raw = {**raw, "metadata": rest}
        if not rest:
            del raw["metadata"]
    elif metadata is None and "metadata" in raw:
        raw = {key: value for key, value in raw.items() if key != "metadata"}
    try:
        data = marshal.dumps(raw, 2)
    except ValueError:  # a number that only a Decimal holds
        data = canonical(raw).encode()
    return blake2b(data, digest_size=12).hexdigest()


def is_other(raw: dict[str, Json]) -> bool:
    return (
        not (_OURS & raw.keys() or is_response(raw))
        or ("current" not in raw and not OTHERS.keys().isdisjoint(raw))
        or is_case(raw)
    )


def is_case(raw: dict[str, Json]) -> bool:
    if is_response(raw) or {"current", "baseline", "comparison"} & raw.keys():
        return False
    return not CASE.isdisjoint(raw)


def _other(raw: Json, at: Path, file: str) -> Problem:
    if not isinstance(raw, dict):
        hint = "a baseline is a mapping with id, current and baseline, or a list of such"
        return Problem("BK110", f"not a baseline but a JSON {json_type(raw)}", hint, at=at)
    key = next((key for key in OTHERS if key in raw), "expected_output" if is_case(raw) else "")
    if key:
        hint = "move it out of the folder of baselines; evals are run with baselinekit run"
        if key in _VERBS:
            hint = f"baselinekit {_VERBS[key]} {shlex.quote(file)}"
        return Problem("BK110", f"not a baseline: this looks like {OTHERS[key]}", hint, at=at)
    keys = ", ".join(map(str, list(raw)[:5])) or "nothing"
    what = f"not a baseline: it has neither id nor current, but {keys}"
    return Problem("BK110", what, "a baseline has id, baseline, current, comparison, metadata", at=at)


# An output that is too large for its baseline's file: kept in a file beside it, told apart by its name.

T = TypeVar("T", Known, Variant)

MARK = ".output."


def beside(root: str, file: str, name: str) -> tuple[str, str]:
    """Where an output file is: below which folder, and its name there. A baseline that the operator named
    outside of the project has it below its own folder."""
    if posixpath.isabs(file):
        root, file = posixpath.split(file)
    if posixpath.isabs(name):  # never as it stands: only the operator names absolute paths
        return root, posixpath.relpath(name, root)
    return root, posixpath.normpath(posixpath.join(posixpath.dirname(file), name))


def with_files(
    known: Known | None, root: str, file: str
) -> tuple[Known | None, list[tuple[Path, BaselinekitError]]]:
    """A known-good output, and its variants, with what the files beside hold; and what is wrong with these,
    by where in the record they are named."""
    failed: list[tuple[Path, BaselinekitError]] = []
    if known is None:
        return None, failed

    def filled(stated: T, number: int | None) -> T:
        if stated.output_file is None:
            return stated
        try:
            return replace(stated, output=load(root, file, stated.output_file))
        except (InvalidInput, Refused) as error:
            failed.append((known_path(number), error))
            return stated

    known = filled(known, None)
    if any(variant.output_file for variant in known.variants):
        known = replace(known, variants=[filled(one, number) for number, one in enumerate(known.variants)])
    return known, failed


def size_beside(known: Known | None, root: str, file: str) -> int:
    """The bytes of the output files that a record names."""
    named = [known.output_file, *(one.output_file for one in known.variants)] if known else []
    return sum(os.path.getsize(os.path.join(*beside(root, file, name))) for name in named if name)


def load(root: str, file: str, name: str) -> Json:
    """What an output file holds: `.json` a value, `.bin` its size and hash, anything else text."""
    folder, path = beside(root, file, name)
    return parse(read(folder, path, MAX_OUTPUT_BYTES), path)


def parse(data: bytes, path: str) -> Json:
    """The same of bytes from elsewhere."""
    if path.endswith(".bin"):
        return {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
    if path.endswith(".json"):
        return load_json(decode(data, path).body, path)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        what = f"{path} is not UTF-8 text"
        raise InvalidInput(Problem("BK112", what, "name it .bin to compare it by size and hash")) from None


def file_form(output: Json) -> tuple[str, bytes]:
    """The suffix and the bytes of an output's own file."""
    if isinstance(output, str):
        try:
            return "txt", output.encode("utf-8")
        except UnicodeEncodeError:  # half a character: only JSON can write it
            pass
    return "json", dump_json(output).encode("utf-8")
