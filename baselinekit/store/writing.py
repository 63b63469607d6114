"""Writes baselines: new ones, and approved outputs into the files that hold the old ones."""

import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from urllib.parse import urlsplit

from baselinekit.errors import InvalidInput, NotRecorded, Place, Problem, Refused
from baselinekit.files.edit import edited
from baselinekit.files.languages import JSON, YAML, dump_yaml, language
from baselinekit.files.text import decode, encode, newline
from baselinekit.model.baselines import Baseline, Known, Source, known_path
from baselinekit.model.changes import Applied, Rewritten
from baselinekit.model.values import ABSENT, Edit, Json, Path
from baselinekit.store import atomic, records
from baselinekit.store.atomic import edit_text, lock
from baselinekit.store.dialects.native import ID, check_id
from baselinekit.store.project import CONFIG_NAME, MAX_OUTPUT_BYTES, limits_of, read, read_config, resolve
from baselinekit.store.reading import locate
from baselinekit.structs import Struct, field, replace
from baselinekit.values.changes import Hints
from baselinekit.values.places import value_at


def check_names(id: str, group: str) -> None:
    """Check that a file and its folder can have these names."""
    problems = list(check_id(id))
    if not ID.fullmatch(group):
        hint = "letters, digits, `.`, `_` and `-`, the first a letter or a digit"
        problems.append(Problem("BK108", f"{group!r} cannot be the name of a group", hint))
    if problems:
        raise InvalidInput(*problems)


def check_folder(root: str, folder: str) -> None:
    """Check that a file can be created in a folder, before a run is paid for."""
    atomic.try_folder(resolve(root, folder), folder)


def write_file(
    record: dict[str, Json], file: str, root: str, inline_limit: int, schema: str, *, new: bool = True
) -> None:
    """Write a record as a whole file. With `new` the file must not exist yet. An output that is too large
    goes into a file of its own beside it, with the same stem."""
    target = resolve(root, file)
    with atomic.reporting(posixpath.dirname(file)):
        os.makedirs(os.path.dirname(target), exist_ok=True)
    stem = posixpath.basename(file).removesuffix(".yaml")
    with lock(root, file):
        if new and os.path.lexists(target):
            raise InvalidInput(atomic.already_exists(file))
        known, output_file = split_large_output(record["baseline"], file, stem, root, inline_limit)
        text = f"# yaml-language-server: $schema={schema}\n{dump_yaml({**record, 'baseline': known})}"
        if output_file:
            atomic.replace_file(*output_file)
        atomic.replace_file(root, file, text.encode("utf-8"), new=new)


def add_baseline(
    draft: Baseline, baseline: dict[str, Json], root: str, inline_limit: int, ordered: Iterable[str] = ()
) -> None:
    """Add a `baseline:` to a record that has none, before its recipe, and a rule that the arrays in `ordered`
    are compared in order. The rest of the file is unchanged."""
    id, source = draft.id, draft.source
    known, output_file = split_large_output(baseline, source.file, id, root, inline_limit)
    path_of = records.dialect(source).path
    written = {path_of(("baseline", key))[-1]: value for key, value in known.items()}
    values: dict[Path, Json] = {("baseline",): written}
    values |= {("comparison", "arrays", path): "ordered" for path in ordered}
    if failures := renew([Renewal(id, source, values=values, output_file=output_file)], root).failures:
        raise NotRecorded(*failures)


def is_large(output: Json, limit: int) -> bool:
    """Whether an output takes more than `limit` bytes as YAML."""
    return len(dump_yaml(output).encode("utf-8", "surrogatepass")) > limit


def split_large_output(
    known: dict[str, Json], file: str, id: str, root: str, limit: int
) -> tuple[dict[str, Json], tuple[str, str, bytes] | None]:
    """Return the `baseline:`, which for an output over the limit names an output file; and that file: its
    folder, its name and its bytes. Write it first, so that no reader sees the name of a missing file."""
    if not is_large(known["output"], limit):
        return known, None
    suffix, data = records.file_form(known["output"])
    name = f"{id}{records.MARK}{suffix}"
    remaining = {key: value for key, value in known.items() if key != "output"}
    return {"output_file": name, **remaining}, (*records.output_location(root, file, name), data)


def large_outputs(known: Known, limit: int) -> Iterator[tuple[int | None, Json]]:
    """Yield the outputs over the limit that are in their baseline's file: its own with None, and those of its
    variants with their numbers."""
    for variant, item in known.versions:
        if item.output_file is None and item.output is not ABSENT and is_large(item.output, limit):
            yield variant, item.output


def move_outputs(root: str, baseline: Baseline, limit: int) -> list[tuple[str, int]]:
    """Move the outputs over the limit out of their baseline's file into files beside it, as `capture` writes
    them. Returns the names and sizes of these files. NotRecorded if an output has to stay where it is."""
    source, moving, written = baseline.source, list[Renewal](), list[tuple[str, int]]()
    message, hint, place = "", "", Place(source.file)
    for variant, output in large_outputs(baseline.baseline, limit) if baseline.baseline else ():
        at, (suffix, content) = known_path(variant), records.file_form(output)
        number = "" if variant is None else f".{variant + 1}"
        name = f"{baseline.id}{number}{records.MARK}{suffix}"
        folder, path = records.output_location(root, source.file, name)
        values: dict[Path, Json] = {(*at, "output_file"): name, (*at, "output"): ABSENT}
        moving.append(Renewal(baseline.id, source, values=values, output_file=(folder, path, content)))
        written.append((path, len(content)))
        place = locate(source, (*at, "output"), root)
        if os.path.lexists(os.path.join(folder, path)) and read(folder, path, MAX_OUTPUT_BYTES) != content:
            message, hint = f"{path} is there already", "remove it, then run again"
    moved = renew(moving, root, dry_run=True)
    if sum(file.before.count("#") - file.after.count("#") for file in moved.files) > 0:
        message = "its output has comments in or above it, which a JSON file cannot hold"
        hint = "remove them, or move them above `baseline:`, then run again"
    if message:
        raise NotRecorded(Problem("BK116", f"{baseline.id}: {message}", hint, place))
    if failures := moved.failures or renew(moving, root).failures:
        raise NotRecorded(*failures)
    return written


# Approved outputs are written into the files that hold the baselines; only what changes is edited. The file
# is read again under its lock. A case that was edited since is left alone: the approval was for another
# version.

_KEY_ORDER = (
    *("id", "name", "description", "version", "baseline_version", "baseline"),
    *("when", "output", "output_file", "response", "captured_at", "environment", "observed", "learnt"),
    *("approved_by", "reason", "variants", "current", "test_case", "comparison", "metadata", "grader"),
)
"""The order of keys, which decides where a new key goes."""


OutputFile = tuple[str, str, bytes, bytes]
"""A file beside a baseline that changes: its folder, its name, its old and its new bytes."""


class Renewal(Struct):
    """The new values of a record: an output (ABSENT: unchanged) of the record itself or of one of its
    variants, and other values by their paths in the record; `output_file`: one that is new (folder, name,
    bytes)."""

    id: str
    source: Source
    output: Json = ABSENT
    variant: int | None = None
    values: dict[Path, Json] = field(default_factory=dict)
    hints: Hints = field(default_factory=Hints)
    output_file: tuple[str, str, bytes] | None = None


def renew(renewals: Sequence[Renewal], root: str, dry_run: bool = False) -> Applied:
    """Write the renewals, and return the changed files; with `dry_run`, write nothing. A record that cannot
    be renewed does not stop the others."""
    by_file: dict[str, list[Renewal]] = {}
    for renewal in renewals:
        by_file.setdefault(renewal.source.file, []).append(renewal)
    rewritten: list[Rewritten] = []
    ids: list[str] = []
    failures: list[Problem] = []

    @contextmanager
    def noting(file: str) -> Iterator[None]:
        try:
            yield
        except (InvalidInput, Refused, NotRecorded) as error:
            where = Place(file)
            failures.extend(one if file in one.message else one.placed(where) for one in error.problems)

    for file, some in by_file.items():
        with noting(file), nullcontext() if dry_run else lock(root, file):
            data = read(root, file)
            body, bom = decode(data, file)
            cases = records.current_sources([renewal.source for renewal in some], data, file)
            done: list[str] = []
            beside: list[OutputFile] = []
            for renewal in some:
                with noting(file):
                    source = cases.get(records.case_digest(renewal.source.digest))
                    if source is None:
                        message = f"{renewal.id} changed since it was read, so it was left as it is"
                        raise NotRecorded(Problem("BK122", message, "run again"))
                    body, output_files = renewed_text(body, renewal, replace(source, file=file), root)
                    beside += output_files
                    done.append(renewal.id)
            whole = root, file, data, encode(body, bom)
            for folder, name, old, new in () if dry_run else (*beside, whole):
                if new != old:
                    atomic.replace_file(folder, name, new)
            changed = [(name, old, new) for _, name, old, new in (whole, *beside) if new != old]
            rewritten += [Rewritten(name, as_text(old), as_text(new)) for name, old, new in changed]
            ids += done
    return Applied(tuple(rewritten), tuple(ids), tuple(failures))


def as_text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")


def renewed_text(body: str, renewal: Renewal, source: Source, root: str) -> tuple[str, list[OutputFile]]:
    """Return the text with the new values; and the output files that change: folder, name, old and new
    bytes."""
    form, known_at = language(source.file), known_path(renewal.variant)
    folder, path, data = renewal.output_file or ("", "", b"")
    output_files = [(folder, path, b"", data)] if path else []
    if renewal.output is not ABSENT:
        document = form.load(body, source.file)[source.document]
        known = value_at(document, records.place_in(source, known_at)) if known_at else None
        if isinstance(known, dict) and known.get("output_file"):
            name = str(known["output_file"])
            folder, path = records.output_location(root, source.file, name)
            old = read(folder, path, MAX_OUTPUT_BYTES)
            output_files = [(folder, path, old, _renew_output_file(old, path, name, renewal))]
        else:
            at = records.place_in(source, (*known_at, "output"))
            body = edited(body, [Edit(at, renewal.output)], form, source.document, renewal.hints)
    edits = [Edit(records.place_in(source, at), value) for at, value in renewal.values.items()]
    if edits:
        body = edited(body, edits, form, source.document, Hints(siblings=_KEY_ORDER))
    limit = limits_of(root).file_size
    if len(body.encode()) > limit:
        message = f"with the new output of {renewal.id} it would be larger than {limit:,} bytes"
        hint = "remove its `baseline:`, and capture it again"
        raise NotRecorded(Problem("BK106", message, hint))
    return body, output_files


def _renew_output_file(old: bytes, path: str, name: str, renewal: Renewal) -> bytes:
    """Return the new bytes of an output file."""
    message = f"the output of {renewal.id} is kept as"
    hint = "remove its `baseline:`, and capture it again"
    if name.endswith(".bin"):
        message += f" bytes in {name}, and only the hash of the new one is"
        raise NotRecorded(Problem("BK122", message, hint))
    if name.endswith(".json"):
        body, bom = decode(old, path)
        return encode(edited(body, [Edit((), renewal.output)], JSON, 0, renewal.hints), bom)
    if not isinstance(renewal.output, str):
        message += f" text in {name}, and the new output is not text"
        raise NotRecorded(Problem("BK122", message, hint))
    return renewal.output.encode("utf-8")


# Hosts and secrets added to the configuration: one more line, all other bytes unchanged.

_CONFIG_HINTS = Hints(
    siblings=("base_url", "baselines", "evals", "variables", "environments", "placeholders", "http")
)


def edit_config(root: str, config_file: str | None, edits: Sequence[Edit]) -> str:
    """Set values in the configuration, which is created if there is none. Returns the file's name."""
    file = config_file or CONFIG_NAME
    edit_text(root, file, lambda body: with_settings(body, file, edits), missing="version: 1\n")
    return file


def add_origin(root: str, config_file: str | None, origin: str) -> str:
    """Add an origin to the configuration, which is created if there is none, and return what was added."""
    file, line = config_file or CONFIG_NAME, ""

    def edit(body: str) -> str:
        nonlocal line
        text, line = with_origin(body, file, origin)
        return text

    edit_text(root, file, edit, missing="version: 1\n")
    return f"{line} in {file}"


def with_settings(body: str, file: str, edits: Sequence[Edit]) -> str:
    """Return the text of a configuration with other values."""
    if not any(YAML.load(body, file)):
        start = body if not body or body.endswith(("\n", "\r")) else body + newline(body)
        body = f"{start}version: 1{newline(body)}"
    text = edited(body, edits, YAML, hints=_CONFIG_HINTS)
    read_config(encode(text, False), file)
    return text


def with_origin(body: str, file: str, origin: str) -> tuple[str, str]:
    """Return the text with an origin added, and the line that was added. It goes into `allow_hosts` if that
    exists, since only those hosts are allowed then. Otherwise it becomes the `base_url` if there is none, or
    else a variable: neither restricts other hosts."""
    config = next((document for document in YAML.load(body, file) if isinstance(document, dict)), {})
    hosts = config.get("allow_hosts")
    if isinstance(hosts, list):
        host = urlsplit(origin).netloc
        return with_settings(body, file, [Edit(("allow_hosts",), [*hosts, host])]), f"allow_hosts: {host}"
    if not config.get("base_url"):
        return with_settings(body, file, [Edit(("base_url",), origin)]), f"base_url: {origin}"
    variables = config.get("variables") or {}
    name = re.sub(r"\W+", "_", f"url_{urlsplit(origin).netloc}".lower())
    others = (f"{name}_{number}" for number in range(2, len(variables) + 3))
    name = next(one for one in (name, *others) if one not in variables)
    text = with_settings(body, file, [Edit(("variables", name), origin)])
    return text, f"variables: {name}: {origin}"
