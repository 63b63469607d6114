"""Whatever a file holds: baselines, or an error with its place. Never anything else, and never for long."""

import contextlib
import random
import time
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st
from storehelp import EXAMPLES

from baselinekit.errors import InvalidInput, Refused
from baselinekit.store.baselines import load
from baselinekit.store.reading import _load_one, _Loaded

SEEDS = [
    ("f.json" if path.suffix == ".json" else "f.yaml", path.read_bytes())
    for path in sorted(EXAMPLES.iterdir())
]
BITS = [
    *(
        b"[",
        b"]",
        b"{",
        b"}",
        b": ",
        b"- ",
        b"\n",
        b"\t",
        b"&a ",
        b"*a",
        b"!!x ",
        b"'",
        b'"',
        b"|",
        b">",
        b"#",
    ),
    *(
        b"---\n",
        b"...\n",
        b"%",
        b"\x00",
        b"\xff",
        b"\xef\xbb\xbf",
        b"\xe2\x80\xa8",
        b"\xc2\x85",
        b"\r",
        b"<<: *a",
    ),
    *(
        b"\\ud800",
        b"\\U00110000",
        b"1e999999999",
        b"1" * 2_000,
        b"? ",
        b"null",
        b"regression_eval:",
        b".nan",
        b"id: ",
    ),
]


def broken(source: random.Random) -> tuple[str, bytes]:
    name, data = source.choice(SEEDS)
    for _ in range(source.randint(1, 5)):
        at, other = (source.randrange(len(data) + 1) for _ in range(2))
        kind = source.randrange(4)
        if kind == 0:
            data = data[:at] + source.choice(BITS) * source.choice([1, 1, 2, 300]) + data[at:]
        elif kind == 1:
            data = data[: min(at, other)] + data[max(at, other) :]
        elif kind == 2:
            data = data[:at] + data[other : other + 80] + data[at:]
        else:
            data = data[:at] + bytes([source.randrange(256)]) + data[at + 1 :]
    return name, data


def test_a_broken_file_is_an_error_and_nothing_else(tmp_path: Path) -> None:
    source = random.Random(7)
    failed = 0
    for _ in range(500):
        name, data = broken(source)
        loaded = _Loaded()
        began = time.monotonic()
        try:
            _load_one(data, name, str(tmp_path), loaded)
        except (InvalidInput, Refused) as error:
            loaded.keep(error)
        assert time.monotonic() - began < 2, data
        assert all(str(problem).startswith("BK") for problem in loaded.problems)
        failed += bool(loaded.problems)
    assert failed > 200


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from([bit.decode("utf-8", "replace") for bit in BITS if len(bit) < 100]), max_size=12
    ).map("".join)
)
def test_any_text_is_a_baseline_or_an_error(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    folder = tmp_path_factory.mktemp("any")
    for name in ("f.yaml", "f.json"):
        (folder / name).write_bytes(text.encode("utf-8", "surrogatepass"))
        with contextlib.suppress(InvalidInput, Refused):
            load([name], str(folder))
