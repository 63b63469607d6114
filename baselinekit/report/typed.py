"""What was typed for a run, as far as a command that goes on from it has to say it again: who is asked, with
what, which baselines, and where the results were written."""

import shlex
from collections.abc import Iterator, Sequence

from baselinekit.frozen import frozen

OPERATOR = (
    *("--config", "--config-from", "--environment", "--base-url", "--var", "--var-file", "--env-file"),
    *("--secret", "--allow-host"),
)
"""Options with a value that say which project this is and what the operator says of it: every command has
them."""

ASKING = ("--offline", "--target", "--targets")
"""Options with a value that say who is asked, and whether."""

TARGETS = ("--target", "--targets")
"""Options with a value by which a run of evals says who is asked."""

SELECTING = ("-k", "--id", "--tag", "--exclude-tag")
NARROWING = ("--changed-since", "--shard")
OTHERS = (
    *("-j", "--jobs", "--maxfail", "--repeat", "--min-pass-rate", "--base", "-o", "--record-calls"),
    *("--max-calls", "--max-cost", "--max-tokens", "--color", "--processes", "--dask"),
)
_OPERATOR_FLAGS = ("--allow-exec",)
_ASKING_FLAGS = ("--cache",)
_NARROWING_FLAGS = ("--lf",)
_WITH_VALUE = {*OPERATOR, *ASKING, *TARGETS, *SELECTING, *NARROWING, *OTHERS}
_RESULT_FILE = ".json"
_OTHER_FORMS = (".sarif.json", ".ctrf.json", ".eval.json")


@frozen
class Typed:
    """`operator`: what every further command needs; `asking`: what one needs that asks again. `selection` and
    `paths`: the baselines; `narrowed`: they were chosen by something that a refresh cannot say. `results`:
    the result file that holds what came back, for who reads of it elsewhere. `unkept`: what came back could
    not be kept here."""

    operator: tuple[str, ...] = ()
    asking: tuple[str, ...] = ()
    selection: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    narrowed: bool = False
    results: str = ""
    unkept: bool = False


def read_typed(command: str, results: str = "") -> Typed:
    """Of the command line that a report states. Only of a compare the paths are known."""
    try:
        words = shlex.split(command)[1:]
    except ValueError:  # whoever wrote that, it was no shell's
        words = []
    verb, pairs = (words[0], [*_options(words[1:])]) if words else ("", [])
    is_compare = verb == "compare"
    return Typed(
        tuple(_again(pairs, OPERATOR, _OPERATOR_FLAGS)),
        tuple(_again(pairs, (*ASKING, *TARGETS), _ASKING_FLAGS)),
        tuple(_again(pairs, SELECTING)) if is_compare else (),
        tuple(value for name, value in pairs if not name and value) if is_compare else (),
        any(name in (*NARROWING, *_NARROWING_FLAGS) for name, _ in pairs),
        results,
    )


def result_file(outputs: Sequence[str]) -> str:
    """The first among the reports of a run that others can go on from."""
    found = (name for name in outputs if name.endswith(_RESULT_FILE) and not name.endswith(_OTHER_FORMS))
    return next(found, "")


def without_secrets(words: Sequence[str]) -> list[str]:
    """The words, of a secret only its name: the environment has its value, or whoever types it."""
    kept, before = [], ""
    for word in words:
        option, equals, rest = word.partition("=")
        attached = option == "--secret" and bool(equals)
        name, _, _ = (rest if attached else word).partition("=")
        kept.append(f"--secret={name}" if attached else name if before == "--secret" else word)
        before = word
    return kept


def _options(words: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """Names with their values, None for a flag; the name of what stands between the options is empty."""
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if word == "--":
            yield from (("", path) for path in rest)
        elif not word.startswith("-") or word == "-":
            yield "", word
        elif word in _WITH_VALUE:
            yield word, next(rest, "")
        elif equals and name.startswith("--"):
            yield name, value
        elif word[:2] in _WITH_VALUE:
            yield word[:2], word[2:]
        else:
            yield word, None


def _again(
    pairs: Sequence[tuple[str, str | None]], names: Sequence[str], flags: Sequence[str] = ()
) -> Iterator[str]:
    for name, value in pairs:
        if name in flags:
            yield name
        elif name in names and value is not None:
            yield from without_secrets([name, value])
