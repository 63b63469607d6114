"""Equal questions with different answers: a cassette recorded green replays green, however threads run."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, strategies as st

from baselinekit.clients.models.recording import Mode, Parts, Recording
from baselinekit.errors import CannotReplay
from baselinekit.model.recipes import Answer, Message, ModelQuestion, ModelUsage
from baselinekit.store.journal import AnswerJournal, Cassettes

Script = dict[str, list[str]]
"""The questions of each asker, in order."""


@dataclass
class Moody:
    """A model that never answers the same twice, or by `answers` always so."""

    answers: dict[str, str] = field(default_factory=dict)
    calls: int = 0
    spent: ModelUsage = field(default_factory=ModelUsage)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def ask(self, ask: ModelQuestion) -> Answer:
        with self._lock:
            self.calls += 1
            return Answer(self.answers.get(ask.messages[0].content, f"answer {self.calls}"))

    def check(self, name: str, asked: bool = True) -> None: ...

    def parts(self, ask: ModelQuestion) -> Parts:
        return {"model": ask.model, "turn": ask.turn, "messages": [ask.messages[0].content]}

    def mask(self, text: str) -> str:
        return text


def asking(asker: str, what: str, turn: int = 0) -> ModelQuestion:
    return ModelQuestion("m", (Message("user", what),), turn=turn, asker=asker)


def recording(root: str, mode: Mode, source: Moody | None = None) -> Recording:
    return Recording(source or Moody(), Cassettes(root, "calls"), mode)


@contextmanager
def journalled(root: str, go_on: bool, source: Moody | None = None) -> Iterator[Recording]:
    """A run whose answers go into a journal, and which is over when this ends."""
    with closing(AnswerJournal(root, "k", go_on)) as journal:
        yield Recording(source or Moody(), journal, "journal")


def answered(client: Recording, script: Script, order: Sequence[str]) -> dict[str, list[str]]:
    """What each is answered, when the turns come in this order."""
    found: dict[str, list[str]] = {asker: [] for asker in script}
    for asker in order:
        what = script[asker][len(found[asker])]
        found[asker].append(client.ask(asking(asker, what)).text)
    return found


SCRIPTS = st.dictionaries(
    st.sampled_from(["a", "b", "c", "a/b", ""]), st.lists(st.sampled_from("xyz"), max_size=5), min_size=1
)


@given(st.data(), SCRIPTS)
def test_recording_replays_answers_of_each_asker_in_any_order(data: st.DataObject, script: Script) -> None:
    turns = [asker for asker, questions in script.items() for _ in questions]
    first, second = data.draw(st.permutations(turns)), data.draw(st.permutations(turns))
    with TemporaryDirectory() as root:
        recorded = answered(recording(root, "record"), script, first)
        source = Moody()
        assert answered(recording(root, "offline", source), script, second) == recorded
        assert source.calls == 0


@given(st.data(), SCRIPTS)
def test_journal_continued_run_asks_only_unanswered_questions(data: st.DataObject, script: Script) -> None:
    """However often it is stopped, and wherever."""
    turns = [asker for asker, questions in script.items() for _ in questions]
    stops = sorted(data.draw(st.lists(st.integers(0, len(turns)), max_size=3)))
    source = Moody()
    with TemporaryDirectory() as root:
        earlier: dict[str, list[str]] = {}
        for number, stop in enumerate([*stops, len(turns)]):
            with journalled(root, number > 0, source) as client:
                found = answered(client, script, turns[:stop])
            assert all(found[asker][: len(texts)] == texts for asker, texts in earlier.items())
            earlier = found
            assert source.calls == stop
        with journalled(root, False, source) as client:
            answered(client, script, turns)
        assert source.calls == 2 * len(turns), "who begins anew asks everything"


def test_recording_one_more_question_than_answers_is_a_miss(tmp_path: Path) -> None:
    answered(recording(str(tmp_path), "record"), {"a": ["x", "x"]}, "aa")
    client = recording(str(tmp_path), "offline")
    answered(client, {"a": ["x", "x"]}, "aa")
    with pytest.raises(CannotReplay, match="BK630"):
        client.ask(asking("a", "x"))
    with pytest.raises(CannotReplay, match="BK630"):
        client.ask(asking("somebody new", "x"))


def test_recording_equal_answers_serve_further_questions(tmp_path: Path) -> None:
    """So a renamed baseline, and one more repeat of what never varies, need no new recording."""
    steady = Moody({"x": "always"})
    answered(recording(str(tmp_path), "record", steady), {"a": ["x", "x"], "b": ["x"]}, "aba")
    client = recording(str(tmp_path), "offline")
    assert answered(client, {"a": ["x"] * 4, "c": ["x"]}, "aaaac") == {"a": ["always"] * 4, "c": ["always"]}


def test_recording_old_file_has_one_answer_for_all(tmp_path: Path) -> None:
    recording(str(tmp_path), "record").ask(asking("", "x"))
    (file,) = (tmp_path / "calls" / "m").iterdir()
    assert len(file.stem) == 64
    client = recording(str(tmp_path), "offline")
    assert answered(client, {"a": ["x", "x"], "b": ["x"]}, "aba") == {
        "a": ["answer 1"] * 2,
        "b": ["answer 1"],
    }


def test_recording_again_replaces_old_answers(tmp_path: Path) -> None:
    answered(recording(str(tmp_path), "record"), {"a": ["x", "x", "x"]}, "aaa")
    answered(recording(str(tmp_path), "record"), {"a": ["x"]}, "a")
    assert len(list((tmp_path / "calls" / "m").iterdir())) == 1
    assert recording(str(tmp_path), "offline").ask(asking("a", "x")).text == "answer 1"


def test_journal_answer_with_secret_is_not_written(tmp_path: Path) -> None:
    source = Moody({"x": "Your key is ghp_0123456789abcdefghijABCDEFGHIJ012345."})
    for go_on in (False, True):
        with journalled(str(tmp_path), go_on, source) as client:
            assert "ghp_" in answered(client, {"a": ["x", "y"]}, "aa")["a"][0]
    assert source.calls == 3
    (file,) = (tmp_path / ".baselinekit" / "journal").iterdir()
    assert "ghp_" not in file.read_text()
