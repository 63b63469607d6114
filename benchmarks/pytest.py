"""The pytest plugin, beside those that its users would otherwise take: the same tests of the same values, as
whole pytest processes. Each must find a wrong value before it is measured."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from benchmarks import data
from benchmarks.measure import (
    Ended,
    Engine,
    Say,
    Times,
    WrongAnswerError,
    about,
    in_turn,
    median,
    process,
    whole,
)
from benchmarks.results import Found, Note, Row, Scale, Versus
from benchmarks.snapshots import (
    ALL,
    AMBER,
    BARE,
    OURS,
    SINGLE,
    Plugin,
    forget,
    install,
    settings,
    write_large,
    write_small,
)

_VARYING = ("id", "created_at", "updated_at", "etag")
Write = Callable[[Path, Plugin, Iterable[Any]], None]


class Values(Protocol):
    """The values of the tests."""

    def __call__(self, *, answered: bool = False, wrong: bool = False) -> Iterator[Any]: ...


def rows(scale: Scale, say: Say) -> Found:
    plugins = [plugin for plugin in ALL if plugin.found]
    yield from _small(plugins, scale, say)
    yield from _large(plugins, scale, say)
    yield from _starting(scale, say)
    yield from _notes(plugins)


def _small(plugins: Sequence[Plugin], scale: Scale, say: Say) -> Iterator[Row]:
    count = scale.pick(5, 2_000)
    with TemporaryDirectory() as folder:
        places = _places(folder, [*plugins, BARE], count)
        for plugin, place in places.items():
            _begin(plugin, place, write_small, partial(_literal, count))
        passing = [_run(plugin, place, count) for plugin, place in places.items()]
        passed = in_turn(passing, scale.rounds, about(say, f"{count:,} assertions"))
        first = [_first_run(plugin, place, count) for plugin, place in places.items()]
        made = in_turn(first, scale.pick(1, 3), about(say, f"the first run of {count:,}"))
    what = f"{count:,} assertions, a file of 1 KB each"
    short = f"pytest: {count:,} assertions against files of 1 KB" if not scale.quick else ""
    yield from _beside(what, passed, {AMBER: 1.3, SINGLE: 1.3}, short)
    yield from _beside(what, passed, {}, of="wall")
    yield from _beside("the first run, which writes them", made, {})
    yield from _beside("the first run, which writes them", made, {}, of="wall")
    yield from _memory(f"{what}: most memory", passed)


def _literal(count: int, *, answered: bool = False, wrong: bool = False) -> Iterator[dict[str, Any]]:
    """Small values, of which nothing varies."""
    return documents(count, 1_000, wrong=wrong)


def _large(plugins: Sequence[Plugin], scale: Scale, say: Say) -> Iterator[Row]:
    few, many = scale.pick(1, 10), scale.pick(2, 60)
    with TemporaryDirectory() as folder:
        times = {}
        for count in (few, many):
            places = _places(folder, [*plugins, BARE], count)
            for plugin, place in places.items():
                _begin(plugin, place, write_large, partial(documents, count, 100_000))
            engines = [_run(plugin, place, count, scale.regex_budget) for plugin, place in places.items()]
            times[count] = in_turn(engines, scale.rounds, about(say, f"{count} documents of 100 KB"))
    what = "a document of 100 KB with placeholders"
    each = {
        name: (median(times[many][name]) - median(times[few][name])) / (many - few) for name in times[many]
    }
    bare, others = each[BARE.name], [plugin for plugin in plugins if plugin is not OURS]
    for called, without, goal in ((what, 0.0, 0.1), (f"{what}: the part of the plugin", bare, None)):
        for plugin in others:
            ours, theirs = each[OURS.name] - without, each[plugin.name] - without
            rounds = min(len(times[many][OURS.name]), len(times[many][plugin.name]))
            short = f"pytest: {called}" if goal and not scale.quick else ""
            ratio = ours / theirs
            yield Row(called, ours, plugin.name, theirs, ratio, rounds=rounds, goal=goal, short=short)
    what = f"a run of {many} such documents"
    yield from _beside(what, times[many], {})
    yield from _beside(what, times[many], {}, of="wall")
    yield from _memory(f"{what}: most memory", times[many])


def documents(
    count: int, size: int, *, answered: bool = False, wrong: bool = False
) -> Iterator[dict[str, Any]]:
    """Values of about this size. Those that are `answered` are the same ones, with other ids and times in
    their rows; the last row of the last `wrong` ones has another name."""
    rows = len(data.records_of_size(size))
    for number in range(count):
        users, others = data.records(rows, number), data.records(rows, number + answered * 1_000_003)
        for user, other in zip(users, others, strict=True):
            user.update({name: other[name] for name in _VARYING})
        if wrong and number == count - 1:
            users[-1]["name"] = "somebody else"
        yield {"users": users}


def _places(folder: str, plugins: Sequence[Plugin], count: int) -> dict[Plugin, Path]:
    places = {plugin: Path(folder, f"{plugin.name.replace(' ', '-')}-{count}") for plugin in plugins}
    for place in places.values():
        place.mkdir()
    return places


def _begin(plugin: Plugin, place: Path, write: Write, values: Values) -> None:
    """Record, and look that a wrong value is found. Then the tests have the values that are to pass."""
    write(place, plugin, values())
    ran = process(plugin.argv(*plugin.record), str(place), settings())
    if ran.exit_code:
        raise WrongAnswerError(f"{plugin.name} could not record: {ran.output[-2000:]}")
    if plugin is not BARE:
        write(place, plugin, values(answered=True, wrong=True))
        if process(plugin.argv(), str(place), settings()).exit_code != 1:
            raise WrongAnswerError(f"{plugin.name} passes a wrong value")
    write(place, plugin, values(answered=True))


def _passed(count: int) -> Callable[[Ended], bool]:
    return lambda ended: ended.exit_code == 0 and f"{count} passed" in ended.output.replace(",", "")


def _run(plugin: Plugin, place: Path, count: int, at_most: float = float("inf")) -> Engine:
    argv = plugin.argv()
    at_most = float("inf") if plugin is OURS else at_most
    return whole(plugin.name, argv, _passed(count), cwd=str(place), env=settings(), at_most=at_most)


def _first_run(plugin: Plugin, place: Path, count: int) -> Engine:
    """Nothing is recorded yet."""
    argv, before = plugin.argv(*plugin.record), partial(forget, place)
    return whole(plugin.name, argv, _passed(count), cwd=str(place), env=settings(), before=before)


def _beside(
    what: str, times: Times, goals: dict[Plugin, float], short: str = "", of: str = "cpu"
) -> Iterator[Row]:
    limits = {plugin.name: goal for plugin, goal in goals.items()}
    if len(times) == 1:
        yield Row(what, median(times[OURS.name], of), of=of)
    for name in times:
        if name != OURS.name:
            shown = short if name in limits else ""
            yield Versus(times).row(what, OURS.name, name, of=of, goal=limits.get(name), short=shown)


def _memory(what: str, times: Times) -> Iterator[Row]:
    ours = median(times[OURS.name], "peak")
    for name, spent in times.items():
        if name != OURS.name:
            theirs = median(spent, "peak")
            yield Row(what, ours, name, theirs, ours / theirs, "bytes")


def _starting(scale: Scale, say: Say) -> Iterator[Row]:
    """What the plugin adds where no test asks for it, in an environment of pytest alone."""
    rounds = scale.pick(scale.rounds, 4 * scale.rounds)
    with TemporaryDirectory() as folder:
        Path(folder, "test_nothing.py").write_text("def test_nothing():\n    pass\n", "utf-8")
        places = {"without": Path(folder, "without"), "with": Path(folder, "with")}
        for name, place in places.items():
            install(place, with_ours=name == "with")
        for what, words, said in (
            ("pytest --version", ["--version"], "pytest"),
            ("a run of one empty test", ["test_nothing.py"], "1 passed"),
        ):
            engines = [_starting_in(name, place, words, said) for name, place in places.items()]
            times = in_turn(engines, rounds, about(say, what))
            pairs = zip(times["with"], times["without"], strict=True)
            added = sorted(one.cpu - other.cpu for one, other in pairs)[rounds // 2]
            short = "" if "--version" in words or scale.quick else "Start-up that the pytest plugin adds"
            yield Row(f"what the plugin adds to {what}", added, rounds=rounds, goal=0.010, short=short)
            yield Versus(times).row(what, "with", "without", called="without the plugin")


def _starting_in(name: str, place: Path, words: Sequence[str], said: str) -> Engine:
    argv = [sys.executable, "-S", "-m", "pytest", "-q", "-p", "no:cacheprovider", *words]
    env = {**settings(), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "", "PYTHONPATH": str(place)}

    def right(ended: Ended) -> bool:
        return ended.exit_code == 0 and said in ended.output

    return whole(name, argv, right, cwd=str(place.parent), env=env)


def _notes(plugins: Sequence[Plugin]) -> Iterator[Note]:
    missing = dict.fromkeys(plugin.package.replace("_", "-") for plugin in ALL if not plugin.found)
    if missing:
        yield Note(f"Not installed: {', '.join(missing)} (`make bench-peers` installs them).")
    found = dict.fromkeys(f"{plugin.package} {plugin.version}" for plugin in plugins if plugin.package)
    if found:
        yield Note(f"{', '.join(found)}; all in one pytest and one Python, each with no plugin but its own.")
    yield Note(
        "What differs in every run: an id, two times and a hash in each row. Ours are placeholders, those of "
        "syrupy its `path_value` with regular expressions; pytest-regressions is handed values in which the "
        "test has replaced what such expressions match. Bare pytest runs the same tests and compares nothing."
    )
    yield Note(
        "The part of the plugin is what a document takes less what it takes bare pytest, whose test reads it "
        "and compares it with nothing. Each test of a document reads its own file and keeps nothing of it."
    )
