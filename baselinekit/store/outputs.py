"""An output that is too large for its baseline's file: kept in a file beside it, told apart by its name."""

import hashlib
import posixpath
from dataclasses import replace
from typing import TypeVar

from baselinekit.documents import jsonfile
from baselinekit.documents.text import decode
from baselinekit.errors import BaselinekitError, InvalidInput, Problem, Refused
from baselinekit.model.baselines import Known, Variant, known_path
from baselinekit.model.values import Json, Path
from baselinekit.store.files import MAX_OUTPUT_BYTES, read

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


def load(root: str, file: str, name: str) -> Json:
    """What an output file holds: `.json` a value, `.bin` its size and hash, anything else text."""
    folder, path = beside(root, file, name)
    return parse(read(folder, path, MAX_OUTPUT_BYTES), path)


def parse(data: bytes, path: str) -> Json:
    """The same of bytes from elsewhere."""
    if path.endswith(".bin"):
        return {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
    if path.endswith(".json"):
        return jsonfile.load(decode(data, path).body, path)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        what = f"{path} is not UTF-8 text"
        raise InvalidInput(Problem("BK112", what, "name it .bin to compare it by size and hash")) from None


def form(output: Json) -> tuple[str, bytes]:
    """The suffix and the bytes of an output's own file."""
    if isinstance(output, str):
        try:
            return "txt", output.encode("utf-8")
        except UnicodeEncodeError:  # half a character: only JSON can write it
            pass
    return "json", jsonfile.dump(output).encode("utf-8")
