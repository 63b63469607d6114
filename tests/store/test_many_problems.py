"""A file that is wrong throughout is told so in a bounded number of lines, and in time."""

import time

import pytest

from baselinekit.documents import yamlfile
from baselinekit.errors import BaselinekitError
from baselinekit.store.baselines import parse_record


def problems(count: int) -> tuple[int, str, float]:
    text = "id: a\n" + "".join(f"wrong_key_{n}: 1\n" for n in range(count))
    raw = yamlfile.load(text, "x.yaml")[0]
    began = time.process_time()
    with pytest.raises(BaselinekitError) as caught:
        parse_record(raw, ".")
    return len(caught.value.problems), str(caught.value), time.process_time() - began


def test_thousands_of_wrong_keys_are_few_lines_and_their_number() -> None:
    number, told, _ = problems(20_000)
    assert number < 60
    assert "unknown key 'wrong_key_0'" in told
    assert "more problems" in told


def test_the_time_grows_with_the_size_of_the_file_and_no_faster() -> None:
    for _ in range(3):  # another process may have had the processor
        if problems(20_000)[2] / max(problems(5_000)[2], 0.02) < 8:
            return
    pytest.fail("too slow")
