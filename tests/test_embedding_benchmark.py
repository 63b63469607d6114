"""What the page about sentence models tells is counted rightly, and by texts that are worth asking."""

import math
from pathlib import Path

from matching.factpairs import KEPT, REGRESSIONS, UNSEEN

from benchmarks import embedding
from benchmarks.topics import TOPICS

PAGE = (Path(__file__).parents[1] / "benchmarks" / "embedding.md").read_text("utf-8")


def words(text: str) -> set[str]:
    return set(text.lower().strip(".?").split())


def test_the_other_topic_has_more_of_the_words() -> None:
    assert len({text for triple in TOPICS for text in triple}) == 3 * len(TOPICS)
    for text, same, other in TOPICS:
        assert len(words(text) & words(other)) > len(words(text) & words(same)), text


def vectors(angle_of_other: float) -> dict[str, list[float]]:
    found = {}
    for text, same, other in TOPICS:
        found |= {text: [1.0, 0.0], same: [math.cos(0.5), math.sin(0.5)]}
        found[other] = [2 * math.cos(angle_of_other), 2 * math.sin(angle_of_other)]
    return found


def test_right_is_who_finds_the_same_topic_nearer() -> None:
    assert embedding.topics_right(vectors(0.6)) == len(TOPICS)
    assert embedding.topics_right(vectors(0.4)) == 0


def test_pairs_are_counted_behind_a_whole_compare() -> None:
    pair, negated = ("The door is open.", "The gate is open."), ("The door is open.", "The door is not open.")
    one, apart = [1.0, 0.0], [0.0, 1.0]
    near = dict.fromkeys({*pair, *negated}, one)
    assert embedding.passing(near, [pair, negated]) == 1
    assert embedding.passing(near | {pair[1]: apart}, [pair, negated]) == 0


def test_the_page_tells_of_every_engine_and_of_the_pairs_there_are() -> None:
    table = PAGE.split("<!-- table: benchmarks.embedding -->\n")[1].split("<!-- /table -->")[0]
    head, _, *rows = table.splitlines()
    assert all(engine in head for engine in embedding.PACKAGES)
    told = {name.strip(): figure.strip() for _, name, figure, *_ in (row.split("|") for row in rows)}
    assert told["topics recognised"].endswith(f" of {len(TOPICS)}")
    assert told["paraphrases that fail"].endswith(f" of {len(KEPT)}")
    assert told["changed facts that pass"].endswith(f" of {len(REGRESSIONS)}")
    assert told["further changed facts that pass"].endswith(f" of {len(UNSEEN)}")
