"""Every form of file that `capture FILE` reads requests from. A further form is one more file and one more
row here."""

from collections.abc import Callable
from typing import NamedTuple

from baselinekit.errors import BaselinekitError
from baselinekit.importers import har, lines, openapi
from baselinekit.importers.drafts import ImportChoices, ImportedFile, SourceText


class Importer(NamedTuple):
    """A form: its name, whether a file has it, and how the file is read."""

    form: str
    recognises: Callable[[SourceText], bool]
    read: Callable[[SourceText, ImportChoices], ImportedFile]


IMPORTERS = tuple(Importer(module.FORM, module.recognises, module.read) for module in (openapi, har, lines))


def importer_of(source: SourceText) -> Importer | None:
    """The importer of a file by its content; None if no importer reads it."""
    try:
        return next((importer for importer in IMPORTERS if importer.recognises(source)), None)
    except BaselinekitError:  # neither JSON nor YAML
        return None
