"""Baselines written: new ones, and approved outputs put into the files that hold the old ones."""

import contextlib
import os
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from baselinekit.documents.languages import JSON, YAML, dump_yaml, language, yaml_scalar
from baselinekit.documents.renewal import renewed
from baselinekit.documents.splice import apply
from baselinekit.documents.text import decode, encode, holds_more, mark, newline
from baselinekit.errors import BaselinekitError, InvalidInput, NotRecorded, Place, Problem, Refused
from baselinekit.frozen import frozen
from baselinekit.model.baselines import Source, known_path
from baselinekit.model.changes import Applied, Rewritten
from baselinekit.model.values import ABSENT, Edit, Json, Path
from baselinekit.store import atomic, records
from baselinekit.store.atomic import cannot_write, edit_text, lock
from baselinekit.store.dialects.native import ID, check_id
from baselinekit.store.project import CONFIG_NAME, MAX_OUTPUT_BYTES, limits_of, read, read_config, resolve
from baselinekit.store.reading import locate
from baselinekit.store.records import DIALECTS
from baselinekit.tree.changes import Hints
from baselinekit.tree.equality import canonical, identical
from baselinekit.tree.places import value_at

_AFTER = ("baseline", "current", "test_case", "comparison", "metadata", "grader")


def check_names(id: str, group: str) -> None:
    """Whether a file can be called so."""
    problems = list(check_id(id))
    if not ID.fullmatch(group):
        hint = "letters, digits, `.`, `_` and `-`, the first a letter or a digit"
        problems.append(Problem("BK108", f"{group!r} cannot be the name of a group", hint))
    if problems:
        raise InvalidInput(*problems)


def check_folder(root: str, folder: str) -> None:
    """Whether a file can be made there: found out before anybody pays for what is to stand in it."""
    try:
        atomic.try_folder(resolve(root, folder))
    except OSError as error:
        raise NotRecorded(cannot_write(folder, error)) from None


def write_new(
    record: dict[str, Json], group: str, root: str, folder: str, inline_limit: int, schema: str
) -> str:
    """Write `<folder>/<group>/<id>.yaml`, which must not be there yet, and say how it is called. The record
    has its keys in the order in which they are to stand; `schema` is what editors find the schema by."""
    check_names(record["id"], group)
    file = posixpath.join(folder, group, f"{record['id']}.yaml")
    write_file(record, file, root, inline_limit, schema)
    return file


def write_file(
    record: dict[str, Json],
    file: str,
    root: str,
    inline_limit: int,
    schema: str,
    *,
    new: bool = True,
    sync: bool = True,
) -> None:
    """Write a record as a whole file, which must not be there yet unless it is no `new` one. An output that
    is too long for it goes into a file of its own beside it, called like it. `sync` may be left out for what
    can be had again."""
    target = resolve(root, file)
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
    except OSError as error:
        raise NotRecorded(cannot_write(posixpath.dirname(file), error)) from None
    stem = posixpath.basename(file).removesuffix(".yaml")
    with lock(root, file):
        if new and os.path.lexists(target):
            raise InvalidInput(atomic.exists(file))
        known, beside = kept_short(record["baseline"], file, stem, root, inline_limit)
        text = f"# yaml-language-server: $schema={schema}\n{dump_yaml({**record, 'baseline': known})}"
        if beside:
            atomic.replace_file(*beside, sync=sync)
        atomic.replace_file(root, file, text.encode("utf-8"), new=new, sync=sync)


def add_baseline(
    source: Source,
    baseline: dict[str, Json],
    root: str,
    inline_limit: int,
    ordered: Iterable[str] = (),
) -> None:
    """Give a record that has none its `baseline:`, before its recipe, and these arrays the rule that they are
    compared in order; the rest of the file stays as it is."""
    file = source.file

    def edit(body: str) -> str:
        raw = dict(value_at(language(file).load(body, file)[source.document], source.at))
        if raw.get("baseline") is not None:
            place = locate(source, ("baseline",), root)
            what, hint = "there is a baseline already", "remove its `baseline:` first"
            raise InvalidInput(Problem("BK113", what, hint, place))
        if records.digest(raw) != records.case_digest(source.digest):
            raise NotRecorded(Problem("BK122", f"{file} changed since it was read", "run again"))
        id = str(records.id_of(raw, source))
        known, beside = kept_short(baseline, file, id, root, inline_limit)
        new = Edit((*source.at, "baseline"), DIALECTS[source.form].write(known))
        rules = [Edit((*source.at, "comparison", "arrays", path), "ordered") for path in ordered]
        text = apply(body, [new, *rules], source.document, language(file), _AFTER)
        if beside:
            atomic.replace_file(*beside)
        return text

    atomic.edit_text(root, file, edit)


def is_large(output: Json, limit: int) -> bool:
    """Whether an output takes more bytes of YAML than may stand in the file of its baseline: its texts alone,
    or with all that is around them."""
    return holds_more(output, limit) or len(dump_yaml(output).encode("utf-8", "surrogatepass")) > limit


def kept_short(
    known: dict[str, Json], file: str, id: str, root: str, limit: int
) -> tuple[dict[str, Json], tuple[str, str, bytes] | None]:
    """The `baseline:`, and for an output over the limit the file of its own that it names: where below which
    folder, and its bytes. That one is written first, so that nobody reads a name that leads nowhere."""
    if not is_large(known["output"], limit):
        return known, None
    suffix, data = records.file_form(known["output"])
    name = f"{id}{records.MARK}{suffix}"
    rest = {key: value for key, value in known.items() if key != "output"}
    return {"output_file": name, **rest}, (*records.beside(root, file, name), data)


# Approved outputs, written into the files that hold the baselines: of each file only what changes. Under the
# lock the file is read again; a case that somebody edited since is left alone, for another one was approved.

_ORDER = (
    *("id", "name", "description", "version", "baseline_version", "baseline"),
    *("when", "output", "output_file", "response", "captured_at", "environment", "observed", "learnt"),
    *("approved_by", "reason", "variants", "current", "test_case", "comparison", "metadata", "grader"),
)
"""Where a key goes that a record does not have yet."""


@frozen
class Renewal:
    """What is to stand in a record from now on: an output (ABSENT: as it is) of the record itself or of one
    of its variants, and other values by their paths in the record."""

    id: str
    source: Source
    output: Json = ABSENT
    variant: int | None = None
    values: dict[Path, Json] = field(default_factory=dict)
    hints: Hints = field(default_factory=Hints)


def preview(renewals: Sequence[Renewal], root: str) -> Applied:
    """The files as they would be. Nothing is written."""
    writer = RenewalWriter(root, renewals)
    for file in writer.by_file:
        writer.plan(file)
    return writer.result()


def renew(renewals: Sequence[Renewal], root: str, sync: bool = True) -> Applied:
    """Write them: together those that nobody else is writing, the others one by one. `sync` may be left out
    by who waits for the disk once, after many."""
    writer = RenewalWriter(root, renewals, sync)
    for error in atomic.write_locked(root, writer.by_file, writer.write):
        writer.failures += error.problems
    return writer.result()


@dataclass(slots=True)
class RenewedFile:
    """A file with what it is to hold. `beside`: the outputs that go with it, each below its folder."""

    ids: list[str]
    before: bytes
    after: bytes
    beside: list[tuple[str, str, bytes, bytes]]


class RenewalWriter:
    """Puts renewals into their files. One record that cannot be renewed does not stop the others."""

    def __init__(self, root: str, renewals: Sequence[Renewal], sync: bool = True):
        self.root = root
        self._sync = sync
        self.by_file: dict[str, list[Renewal]] = {}
        for renewal in renewals:
            self.by_file.setdefault(renewal.source.file, []).append(renewal)
        self.failures: list[Problem] = []
        self._renewed: dict[str, RenewedFile] = {}

    def plan(self, file: str) -> None:
        """Work out what this file is to hold."""
        renewals = self.by_file[file]
        try:
            data = read(self.root, file)
            body, bom = decode(data, file)
            cases = records.current_sources([renewal.source for renewal in renewals], data, body, file)
        except (InvalidInput, Refused, NotRecorded) as error:
            self._fail(file, error)
            return
        renewed_file = RenewedFile([], data, data, [])
        for renewal in renewals:
            try:
                source = cases.get(records.case_digest(renewal.source.digest))
                if source is None:
                    what = f"{renewal.id} changed since it was read, so it was left as it is"
                    raise NotRecorded(Problem("BK122", what, "run again"))
                text, beside = renewed_text(body, renewal, replace(source, file=file), self.root)
                most = limits_of(self.root).file_size
                if len(text.encode()) > most:
                    what = f"with the new output of {renewal.id} it would be larger than {most:,} bytes"
                    raise NotRecorded(Problem("BK106", what, "remove its `baseline:`, and capture it again"))
            except (InvalidInput, Refused, NotRecorded) as error:
                self._fail(file, error)
            else:
                body = text
                renewed_file.ids.append(renewal.id)
                renewed_file.beside += beside
        renewed_file.after = encode(body, bom)
        self._renewed[file] = renewed_file

    def write(self, files: Sequence[str]) -> None:
        """Write these files: first the outputs beside them, then the files that name these."""
        contents: dict[str, bytes] = {}
        for file in files:
            self.plan(file)
            if (renewed_file := self._renewed.get(file)) is None:
                continue
            try:
                for folder, name, _, data in renewed_file.beside:
                    atomic.replace_file(folder, name, data, sync=self._sync)
            except BaselinekitError as error:
                self._fail(file, error)
                del self._renewed[file]
            else:
                if renewed_file.after != renewed_file.before:
                    contents[file] = renewed_file.after
        for file, failure in atomic.replace_files(self.root, contents, self._sync).items():
            self._fail(file, failure)
            del self._renewed[file]

    def result(self) -> Applied:
        """What was written, or would be."""
        changes: list[tuple[str, bytes, bytes]] = []
        for file, renewed_file in self._renewed.items():
            if renewed_file.after != renewed_file.before:
                changes.append((file, renewed_file.before, renewed_file.after))
            changes += [(name, old, new) for _, name, old, new in renewed_file.beside]
        files = (
            Rewritten(name, old.decode("utf-8", "backslashreplace"), new.decode("utf-8", "backslashreplace"))
            for name, old, new in changes
        )
        ids = (id for renewed_file in self._renewed.values() for id in renewed_file.ids)
        return Applied(tuple(files), tuple(ids), tuple(self.failures))

    def _fail(self, file: str, error: BaselinekitError) -> None:
        """What cannot be written says so by name, and how a compare can do without helps nobody here."""
        for problem in error.problems:
            named = replace(problem, hint=problem.hint.partition(" (compare does not need")[0])
            self.failures.append(named if file in problem.message else named.placed(Place(file)))


def renewed_text(
    body: str, renewal: Renewal, source: Source, root: str
) -> tuple[str, list[tuple[str, str, bytes, bytes]]]:
    """The text with the new values in it, and the files beside that change."""
    spoken = language(source.file)
    record = value_at(spoken.load(body, source.file)[source.document], source.at)
    in_record = replace(source, at=())

    def there(path: Path) -> Json:
        """The value at a path of the model, ABSENT if there is none."""
        try:
            return value_at(record, records.place_in(in_record, path))
        except (KeyError, IndexError, TypeError):
            return ABSENT

    known = there(known_path(renewal.variant))
    beside = []
    if renewal.output is not ABSENT and isinstance(known, dict) and known.get("output_file"):
        stated = str(known["output_file"])
        folder, path = records.beside(root, source.file, stated)
        old = read(folder, path, MAX_OUTPUT_BYTES)
        beside = [(folder, path, old, _renewed_output(old, path, stated, renewal))]
    elif renewal.output is not ABSENT:
        place = records.place_in(source, (*known_path(renewal.variant), "output"))
        body = renewed(body, source.document, spoken, place, renewal.output, renewal.hints)
    edits: list[Edit] = []
    for at, value in renewal.values.items():
        stood, here = there(at), records.place_in(source, at)
        if lacks_keys(stood, value):
            body = renewed(body, source.document, spoken, here, value)
        elif value is ABSENT and stood is not ABSENT:
            around = value_at(spoken.load(body, source.file)[source.document], here[:-1])
            kept = {key: item for key, item in around.items() if key != here[-1]}
            body = renewed(body, source.document, spoken, here[:-1], kept)
        elif value is not ABSENT:
            edits += [Edit((*here, *below), new) for below, new in _differing(stood, value)]
    return apply(body, edits, source.document, spoken, _ORDER) if edits else body, beside


def _renewed_output(old: bytes, path: str, stated: str, renewal: Renewal) -> bytes:
    """The new bytes of an output's own file."""
    what = f"the output of {renewal.id} is kept as"
    hint = "remove its `baseline:`, and capture it again"
    if stated.endswith(".bin"):
        what += f" bytes in {stated}, and only the hash of the new one is"
        raise NotRecorded(Problem("BK122", what, hint))
    if stated.endswith(".json"):
        body, bom = decode(old, path)
        return encode(renewed(body, 0, JSON, (), renewal.output, renewal.hints), bom)
    if not isinstance(renewal.output, str):
        what += f" text in {stated}, and the new output is not text"
        raise NotRecorded(Problem("BK122", what, hint))
    return renewal.output.encode("utf-8")


def lacks_keys(old: Json, new: Json) -> bool:
    """Whether a key of a mapping, or of one in it, is to go."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return False
    return not old.keys() <= new.keys() or any(lacks_keys(old[key], new[key]) for key in old)


def _differing(old: Json, new: Json, path: Path = ()) -> Iterator[tuple[Path, Json]]:
    """The smallest parts by whose change the old value becomes the new one."""
    if isinstance(old, dict) and isinstance(new, dict) and old.keys() <= new.keys():
        for name, value in new.items():
            yield from _differing(old.get(name, ABSENT), value, (*path, name))
    elif old is ABSENT or not identical(old, new, ordered=False):
        yield path, new


# The JSON Schema, where the first line of a file that we have written says that an editor finds it.


def baseline_schema() -> str:
    """The schema of a baseline file, as it comes with the package: to make it from the classes takes longer
    than all else that the capture of a small output does."""
    with open(os.path.join(os.path.dirname(__file__), "baseline.schema.json"), encoding="utf-8") as file:
        return file.read()


def reference(
    root: str, folder: str, of: str = "baseline", schema: Callable[[], str] = baseline_schema
) -> str:
    """The schema's path as it is written from a folder of the project; the file is brought up to date."""
    text = schema()
    path = os.path.join(atomic.STATE_FOLDER, f"{of}.schema.json")
    full, is_current = os.path.join(root, path), False
    try:
        atomic.state_folder(root)
        with contextlib.suppress(OSError, UnicodeDecodeError), open(full, encoding="utf-8") as file:
            is_current = file.read() == text
        if not is_current:
            atomic.replace_file(root, path, text.encode(), sync=False)
    except NotRecorded:
        pass  # an editor without a schema is no reason not to capture
    return os.path.relpath(full, os.path.join(root, folder))


# A host or a secret that is named in the configuration: a line more, every other byte as it was.

_SIBLINGS = ("base_url", "baselines", "evals", "variables", "environments", "placeholders", "http")


def name_origin(root: str, config_file: str | None, origin: str) -> str:
    """Name an origin in the configuration, which is made if there is none. What was written, in a line."""
    file, line = config_file or CONFIG_NAME, ""

    def edit(body: str) -> str:
        nonlocal line
        text, line = with_origin(body, file, origin)
        read_config(encode(text, False), file)
        return text

    edit_text(root, file, edit, missing="version: 1\n")
    return f"{line} in {file}"


def declare_variables(root: str, config_file: str | None, variables: dict[str, Json]) -> str:
    """Declare variables in the configuration, which is made if there is none. The file that was written."""
    file = config_file or CONFIG_NAME

    def edit(body: str) -> str:
        documents = [one for one in YAML.load(body, file) if one is not None]
        text = body if documents and documents[0] else _appended(body, "version: 1")
        edits = [Edit(("variables", name), stated) for name, stated in variables.items()]
        for one in edits:
            text = apply(text, [one], 0, YAML, _SIBLINGS)
        read_config(encode(text, False), file)
        return text

    edit_text(root, file, edit, missing="version: 1\n")
    return file


def state_base_url(root: str, config_file: str | None, url: str) -> str:
    """Make an address the `base_url` of a configuration that has none, or is not there yet."""
    file = config_file or CONFIG_NAME

    def edit(body: str) -> str:
        documents = [one for one in YAML.load(body, file) if one]
        text = _set(body, "base_url", url) if documents else _appended(body, f"base_url: {yaml_scalar(url)}")
        read_config(encode(text, False), file)
        return text

    edit_text(root, file, edit, missing="version: 1\n")
    return file


def with_origin(body: str, file: str, origin: str) -> tuple[str, str]:
    """The text in which an origin is named, and how. `allow_hosts` takes it where there is one, as nothing
    else is asked then. Else it becomes the `base_url` of a project without one, and else a variable:
    neither keeps anybody from asking other hosts."""
    documents = [one for one in YAML.load(body, file) if one is not None]
    config: dict[str, Json] = documents[0] if documents and isinstance(documents[0], dict) else {}
    if not config:
        return _appended(body, f"base_url: {origin}"), f"base_url: {origin}"
    hosts = config.get("allow_hosts")
    if isinstance(hosts, list):
        host = urlsplit(origin).netloc
        return _in_list(body, file, hosts, host), f"allow_hosts: {host}"
    if not config.get("base_url"):
        return _set(body, "base_url", origin), f"base_url: {origin}"
    known = config.get("variables") or {}
    name = _variable(origin, known)
    return _set(body, "variables", origin, name), f"variables: {name}: {origin}"


def _set(body: str, key: str, value: str, name: str | None = None) -> str:
    path = (key,) if name is None else (key, name)
    return apply(body, [Edit(path, value)], 0, YAML, _SIBLINGS)


def _variable(origin: str, known: dict[str, Json]) -> str:
    """`orders_internal_url` for http://orders.internal."""
    parts = urlsplit(origin)
    words = re.sub(r"\W+", "_", parts.netloc).strip("_").lower()
    name = f"{words}_url" if re.match(r"[a-z]", words) and not words.startswith("any_") else f"url_{words}"
    number = 2
    chosen = name
    while chosen in known:
        chosen, number = f"{name}_{number}", number + 1
    return chosen


def _in_list(body: str, file: str, hosts: list[Json], host: str) -> str:
    """One more entry, written as the last one is; where that does not come out right, the list anew."""
    wanted = [*hosts, host]
    text = yaml_scalar(host)
    if hosts:
        last = mark(YAML.events(body), 0, [("allow_hosts", len(hosts) - 1)])
        node = last.reach(("allow_hosts", len(hosts) - 1))[0][-1]
        start = body.rfind("\n", 0, node.start) + 1
        end = body.find("\n", node.end)
        lead = re.match(r"[ \t]*-[ \t]+", body[start : node.start])
        if lead and lead.end() == node.start - start:
            at = len(body) if end < 0 else end + 1
            before = newline(body) if end < 0 else ""
            tried = f"{body[:at]}{before}{lead[0]}{text}{newline(body)}{body[at:]}"
        else:
            tried = f"{body[: node.end]}, {text}{body[node.end :]}"
        with contextlib.suppress(BaselinekitError, LookupError, TypeError):
            if canonical(YAML.load(tried, file)[0]["allow_hosts"]) == canonical(wanted):
                return tried
    return apply(body, [Edit(("allow_hosts",), wanted)], 0, YAML, _SIBLINGS)


def _appended(body: str, line: str) -> str:
    if body and not body.endswith(("\n", "\r")):
        body += newline(body)
    if any(text.strip() in ("...", "---") for text in body.splitlines()):
        what = "a host cannot be named there: the file holds no setting yet, and marks of a document"
        raise NotRecorded(Problem("BK122", what, f"write `{line}` into it"))
    return f"{body}{line}{newline(body)}"
