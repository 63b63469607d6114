"""The room's face for baselines: find, read, locate, write and record them."""

from baselinekit.store.atomic import sweep
from baselinekit.store.locating import locate, locate_all, locate_each
from baselinekit.store.reading import (
    discover,
    load,
    load_partly,
    parse_record,
    read_record,
    without_collector,
)
from baselinekit.store.record import Mark, Recorded, record, record_all, record_left
from baselinekit.store.verdictlog import VerdictLog
from baselinekit.store.writing import add_baseline, check_folder, check_names, refuse_taken, write_new

__all__ = [
    "Mark",
    "Recorded",
    "VerdictLog",
    "add_baseline",
    "check_folder",
    "check_names",
    "discover",
    "load",
    "load_partly",
    "locate",
    "locate_all",
    "locate_each",
    "parse_record",
    "read_record",
    "record",
    "record_all",
    "record_left",
    "refuse_taken",
    "sweep",
    "without_collector",
    "write_new",
]
