"""Ratings as a table (CSV), a row for each: for a spreadsheet, and back."""

import csv
import io
from collections.abc import Iterable, Sequence
from contextlib import suppress

from baselinekit.errors import InvalidInput, Place, Problem
from baselinekit.files.jsontext import NotJson, decode, tight_json
from baselinekit.graders.by_human import value_of
from baselinekit.model.ratings import Rating, RatingItem
from baselinekit.model.values import Json
from baselinekit.schema import read_as
from baselinekit.structs import plain, replace

COLUMNS = ("item", "case", "grader", "rater", "value", "note", "at", "seconds", "notes", "marks")
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "'")
"""A spreadsheet takes a cell that begins so for a formula, which may send other cells elsewhere."""


def dump_table(items: Iterable[RatingItem]) -> str:
    """A row for each rating, and one without a value for an item that has none."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    for item in items:
        for rating in item.ratings or (Rating(""),):
            value = "" if rating.value is None else tight_json(rating.value)
            seconds = "" if rating.seconds is None else str(rating.seconds)
            row = [item.key, item.case, item.grader, rating.rater, value, rating.note, rating.at, seconds]
            row += [tight_json(plain(one)) if one else "" for one in (rating.notes, rating.marks)]
            writer.writerow([f"'{cell}" if cell.startswith(_FORMULA) else cell for cell in row])
    return text.getvalue()


def load_table(
    text: str, name: str, queued: Sequence[RatingItem]
) -> tuple[dict[int, RatingItem], list[Problem]]:
    """The rated items by the number of their first row, and what is wrong with the rows."""
    between = ";" if ";" in text.partition("\n")[0] else ","  # as spreadsheets write it in many countries
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=between)
    known = {item.key: item for item in queued}
    items: dict[str, tuple[int, RatingItem]] = {}
    problems: list[Problem] = []
    try:
        head = next(reader, [])
        missing = [column for column in ("item", "rater", "value") if column not in head]
        if missing:
            hint = f"the first row names the columns: {','.join(COLUMNS)}"
            raise InvalidInput(Problem("BK741", f"no column {missing[0]!r}", hint, Place(name, 1, 1)))
        for row in reader:
            cells = {
                column: cell[1:] if cell[:1] == "'" and cell[1:2] in _FORMULA else cell
                for column, cell in zip(head, row, strict=False)
            }
            place = Place(name, reader.line_num)
            item = known.get(cells["item"]) if "item" in cells else None
            if item is None and any(row):
                message = f"{cells.get('item')!r} is not in the queue"
                problems.append(Problem("BK509", message, "export the table here", place))
            elif item is not None and (cells.get("value") or cells.get("rater")):
                try:
                    number, rated = items.get(item.key, (reader.line_num, replace(item, ratings=())))
                    rating = _rating(cells, item)
                    items[item.key] = number, replace(rated, ratings=(*rated.ratings, rating))
                except InvalidInput as error:
                    for one in error.problems:
                        text = f"{one.at[0]}: {one.message}" if one.at else one.message
                        problems.append(Problem(one.code, text, one.hint, place))
                except NotJson as error:
                    problems.append(Problem("BK741", str(error), "`notes` and `marks` are JSON", place))
    except csv.Error as error:
        message, place = f"the table cannot be read: {error}", Place(name, reader.line_num)
        problems.append(Problem("BK741", message, "save it as CSV", place))
    return dict(items.values()), problems


def _rating(cells: dict[str, str], item: RatingItem) -> Rating:
    text, scale = cells.get("value", ""), item.method.rating_scale
    value: Json = None
    with suppress(NotJson):
        value = decode(text)
    if text and (value is None or isinstance(value, str)):
        value = value_of(text, scale, len(item.shown.items))
    seconds: Json = cells.get("seconds") or None
    with suppress(ValueError):
        seconds = float(cells["seconds"].replace(",", ".")) if seconds else None
    further = {name: decode(cells[name]) for name in ("notes", "marks") if cells.get(name)}
    stated = {"rater": cells["rater"], "at": cells.get("at", ""), "note": cells.get("note", "")}
    rating, problems = read_as(Rating, {**stated, "value": value, "seconds": seconds, **further})
    if rating is None:
        raise InvalidInput(*problems)
    return rating
