"""Which files hold evals: those that are named, and those below the folders that are named."""

from collections.abc import Sequence

from baselinekit.documents.languages import language
from baselinekit.documents.text import decode
from baselinekit.errors import BaselinekitError
from baselinekit.store.files import read
from baselinekit.store.reading import discover
from baselinekit.suites.dialects.dialect import BESIDE, items
from baselinekit.suites.dialects.suite import WRAPPER
from baselinekit.suites.dialects.table import DIALECTS
from baselinekit.suites.settings import NUMBERED


def discover_evals(paths: Sequence[str], root: str) -> tuple[list[str], list[str]]:
    """The suites, those of the upper folders first, and the other files."""
    found = discover(paths, root, BESIDE)
    suites = [file for file in found if _may_be_suite(root, file)]
    return sorted(suites, key=lambda file: file.count("/")), [file for file in found if file not in suites]


def forms_in(root: str, file: str) -> set[str]:
    """What a file holds; nothing where it cannot be read."""
    try:
        documents = language(file).load(decode(read(root, file), file).body, file, numbered=NUMBERED)
    except BaselinekitError:
        return set()
    return {item.form for document in documents for item in items(document, DIALECTS)}


def _may_be_suite(root: str, file: str) -> bool:
    """By a look at its bytes; whether it really is one is found out when it is read."""
    try:
        return WRAPPER.encode() in read(root, file)
    except BaselinekitError:
        return False
