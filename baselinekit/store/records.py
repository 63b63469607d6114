"""The records of a file, each with its place and its dialect, and the outputs in files beside it."""

import marshal
import posixpath
import shlex
from collections.abc import Callable, Sequence
from hashlib import blake2b
from types import ModuleType
from typing import Any

from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem, Refused
from baselinekit.files.jsontext import dump_json, load_json
from baselinekit.files.languages import language
from baselinekit.files.text import Watched, decode
from baselinekit.kinds.bodies import as_hash
from baselinekit.model.baselines import Baseline, Known, Source, known_path
from baselinekit.model.values import Json, Path, json_type
from baselinekit.schema import place_problems
from baselinekit.store.dialects import native
from baselinekit.store.project import MAX_OUTPUT_BYTES, read
from baselinekit.structs import replace
from baselinekit.values.equality import canonical

# The forms of a baseline's record, a module each. Both can `read` a record, and know the `path` in it of a
# path of the model.


def is_response(raw: dict[str, Json]) -> bool:
    """Whether a record has the harness form. It is called for every record; most have the native form."""
    return "test_case" in raw or raw.get("eval_type") == "regression"


def dialect(source: Source) -> ModuleType:
    if source.form == "native":
        return native
    from baselinekit.store.dialects import harness  # most projects have no such file

    return harness


# The records of a file, each with its place, whatever the file's form.

SourceOf = Callable[[int, Path, dict[str, Json]], Source]
WRAPPER = "regression_eval"
RECORD_KEYS = ("last_passed", "failure_count")

OTHERS = {"capability_eval", "expected_output", "expected_outcome", "eval_suite", "eval_trigger"}
OTHERS |= {"test_cases", "evalcases", "triggering", "cases"}
"""Keys of eval files and other data."""
CASE = {"expected", "grader", "graders"}
"""Keys that only an eval case has. In a baseline they are unknown keys."""
_NATIVE_KEYS = {"id", "current", "baseline", "comparison"}


def records_in(data: bytes, file: str) -> list[tuple[Source, dict[str, Json]]]:
    """Return the records of a file: the source and the raw value of each. Empty documents, and reports of
    ours, which may lie beside baselines, have none."""
    body = decode(data, file).body
    documents, source = load_documents(data, body, file)
    found: list[tuple[Source, dict[str, Json]]] = []
    for number, document in enumerate(documents):
        if document is None or is_result_file(document):
            continue
        at: Path = ()
        if isinstance(document, dict) and WRAPPER in document:
            if others := [key for key in document if key != WRAPPER]:
                message, hint = f"unknown key {others[0]!r} beside {WRAPPER}", f"move it below {WRAPPER}"
                problem = Problem("BK103", message, hint, at=(others[0],))
                raise InvalidInput(*place_problems(body, file, {number: [problem]}))
            document, at = document[WRAPPER], (WRAPPER,)
        items = enumerate(document) if isinstance(document, list) else [(None, document)]
        for index, raw in items:
            place = at if index is None else (*at, index)
            if not isinstance(raw, dict) or is_other_data(raw):
                raise InvalidInput(*place_problems(body, file, {number: [_explain_other(raw, place, file)]}))
            found.append((source(number, place, raw), raw))
    if not found and not any(map(is_result_file, documents)):
        hint = "write a baseline into it, or remove it"
        raise InvalidInput(Problem("BK110", "not a baseline: the file is empty", hint, Place(file, 1, 1)))
    return found


def case_digest(digest: str) -> str:
    """Return the half of a source's digest that covers the record without the two values that a compare
    writes: it shows whether a case is still the same. The other half covers the whole file."""
    return digest.partition("-")[2]


def current_sources(old_sources: Sequence[Source], data: bytes, file: str) -> dict[str, Source]:
    """Return the current sources of the cases in a file, by their digests. An unchanged file is not parsed
    again."""
    file_digest, sources = _bytes_digest(data), old_sources
    if not all(source.digest.startswith(f"{file_digest}-") for source in old_sources):
        sources = [source for source, _ in records_in(data, file)]
    return {case_digest(source.digest): source for source in sources}


def load_documents(
    data: bytes, body: str, file: str, numbered: frozenset[str] = frozenset()
) -> tuple[list[Json], SourceOf]:
    """Load the documents of a file. Also returns a function that makes the source of a record in them."""
    watched: Watched = {key: [] for key in RECORD_KEYS}
    documents = language(file).load(body, file, watched, numbered=numbered)
    spans = {(key, id(box)): span for key, watched_boxes in watched.items() for box, span in watched_boxes}
    file_digest = _bytes_digest(data)

    def source(number: int, at: Path, raw: dict[str, Json]) -> Source:
        last_passed, failure_count = (spans.get((key, id(raw.get("metadata")))) for key in RECORD_KEYS)
        source_digest = f"{file_digest}-{digest(raw)}"
        return Source(file, number, at, form(raw), source_digest, (last_passed, failure_count))

    return documents, source


def has_records(documents: list[Json]) -> bool:
    """Whether anything looks like a record, valid or not. A single key is not enough: other data may have
    it."""
    for document in documents:
        if isinstance(document, dict) and WRAPPER in document:
            return True
        for raw in document if isinstance(document, list) else [document]:
            if isinstance(raw, dict) and (is_response(raw) or len(_NATIVE_KEYS & raw.keys()) > 1):
                return True
    return False


def form(raw: dict[str, Json]) -> str:
    """Return the name of the form of a record."""
    return "response" if is_response(raw) else "native"


def id_of(raw: dict[str, Json]) -> Json:
    """Return the unchecked id of a record, which may be of any type."""
    description = raw.get("metadata") if is_response(raw) else raw
    return description.get("id") if isinstance(description, dict) else None


def read_record(raw: dict[str, Json], source: Source) -> tuple[Baseline | None, list[Problem]]:
    """Read a record according to its form. Returns the baseline, and problems with paths in the record."""
    result: tuple[Baseline | None, list[Problem]] = dialect(source).read(raw, source)
    return result


def place_in(source: Source, path: Path) -> Path:
    """Return the path in the record's document of a path of the model."""
    return (*source.at, *dialect(source).path(path))


def _bytes_digest(data: bytes) -> str:
    return blake2b(data, digest_size=12).hexdigest()


def digest(raw: dict[str, Json]) -> str:
    """Return the digest of a record without the two values that a compare writes: equal for the same case."""
    case = {key: value for key, value in raw.items() if key != "metadata"}
    metadata = raw.get("metadata")
    if isinstance(metadata, dict):
        metadata = {key: value for key, value in metadata.items() if key not in RECORD_KEYS}
    if metadata:
        case["metadata"] = metadata
    try:
        data = marshal.dumps(case, 2)
    except ValueError:  # a Decimal
        data = canonical(case).encode()
    return blake2b(data, digest_size=12).hexdigest()


def is_result_file(document: Json) -> bool:
    """Whether a document is a report of ours (`compare -o results.json`), which may lie beside baselines."""
    form = document.get("format") if isinstance(document, dict) else None
    return isinstance(form, str) and form.startswith("baselinekit.results/")


def is_other_data(raw: dict[str, Json]) -> bool:
    is_other = "current" not in raw and not OTHERS.isdisjoint(raw)
    return is_other or not (_NATIVE_KEYS & raw.keys() or is_response(raw)) or is_eval_case(raw)


def is_eval_case(raw: dict[str, Json]) -> bool:
    has_own_keys = is_response(raw) or {"current", "baseline", "comparison"} & raw.keys()
    return not has_own_keys and not CASE.isdisjoint(raw)


def _explain_other(raw: Json, at: Path, file: str) -> Problem:
    if not isinstance(raw, dict):
        hint = "a baseline is a mapping with id, current and baseline, or a list of such"
        return Problem("BK110", f"not a baseline but a JSON {json_type(raw)}", hint, at=at)
    if not OTHERS.isdisjoint(raw) or is_eval_case(raw):
        hint = f"baselinekit run {shlex.quote(file)}"
        return Problem("BK110", "not a baseline: this looks like an eval file", hint, at=at)
    keys = ", ".join(map(str, list(raw)[:5])) or "nothing"
    message = f"not a baseline: it has neither id nor current, but {keys}"
    return Problem("BK110", message, "a baseline has id, baseline, current, comparison, metadata", at=at)


# Outputs that are too large for their baseline's file are in files beside it, recognised by their names.

MARK = ".output."


def output_location(root: str, file: str, name: str) -> tuple[str, str]:
    """Return the folder that an output file must be inside, and its name relative to it. For a baseline that
    the user named outside of the project, that is the baseline's own folder."""
    if posixpath.isabs(file):
        root, file = posixpath.split(file)
    if posixpath.isabs(name):  # never used as absolute: only the user may name absolute paths
        return root, posixpath.relpath(name, root)
    return root, posixpath.normpath(posixpath.join(posixpath.dirname(file), name))


def fill_outputs(
    known: Known | None, load: Callable[[str], Json]
) -> tuple[Known | None, list[tuple[Path, BaselinekitError]]]:
    """Fill in the outputs of a known-good state and its variants from their output files, which `load` reads
    by their names in the record. Also returns the errors, each with the path in the record that names the
    file."""
    errors: list[tuple[Path, BaselinekitError]] = []
    if known is None:
        return None, errors
    filled: dict[int | None, Any] = {}
    for number, version in known.versions:
        filled[number] = version
        if version.output_file is not None:
            try:
                filled[number] = replace(version, output=load(version.output_file))
            except (InvalidInput, Refused) as error:
                errors.append((known_path(number), error))
    own = filled.pop(None)
    return replace(own, variants=[*filled.values()]), errors


def load(root: str, file: str, name: str) -> Json:
    """Load an output file: the value of a `.json`, the size and hash of a `.bin`, else the text."""
    folder, path = output_location(root, file, name)
    return parse(read(folder, path, MAX_OUTPUT_BYTES), path)


def parse(data: bytes, path: str) -> Json:
    """Parse the bytes of an output file like `load`."""
    if path.endswith(".bin"):
        return as_hash(data)
    if path.endswith(".json"):
        return load_json(decode(data, path).body, path)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        message = f"{path} is not UTF-8 text"
        raise InvalidInput(Problem("BK101", message, "name it .bin to compare it by size and hash")) from None


def file_form(output: Json) -> tuple[str, bytes]:
    """Return the suffix and the bytes of an output's own file."""
    if isinstance(output, str):
        try:
            return "txt", output.encode("utf-8")
        except UnicodeEncodeError:  # half of a surrogate pair, which only JSON can represent
            pass
    return "json", dump_json(output).encode("utf-8")
