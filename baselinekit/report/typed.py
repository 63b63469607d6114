"""What was typed for a run, as far as a following command has to repeat it: who is asked and how, which
baselines, and where the results were written."""

import shlex
from collections.abc import Iterator, Sequence

from baselinekit.frozen import frozen

OPERATOR = (
    *("--config", "--config-from", "--environment", "--base-url", "--var", "--var-file", "--env-file"),
    *("--secret", "--allow-host"),
)
"""Options with a value that identify the project and its settings: every command has them."""

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
    """The options and paths of a command. `operator`: what every following command needs; `asking`: what one
    needs that asks again. `selection` and `paths`: the baselines; `narrowed`: they were chosen by options
    that a refresh does not have. `results`: the result file with the new outputs, for readers elsewhere.
    `unkept`: the new outputs could not be kept here."""

    operator: tuple[str, ...] = ()
    asking: tuple[str, ...] = ()
    selection: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    narrowed: bool = False
    results: str = ""
    unkept: bool = False


def parse_command(command: str, results: str = "") -> Typed:
    """Read the command line that a report states. Paths are known only for compare."""
    try:
        words = shlex.split(command)[1:]
    except ValueError:  # not written by a shell
        words = []
    verb, pairs = (words[0], [*_options(words[1:])]) if words else ("", [])
    is_compare = verb == "compare"
    return Typed(
        tuple(_repeat_options(pairs, OPERATOR, _OPERATOR_FLAGS)),
        tuple(_repeat_options(pairs, (*ASKING, *TARGETS), _ASKING_FLAGS)),
        tuple(_repeat_options(pairs, SELECTING)) if is_compare else (),
        tuple(value for name, value in pairs if not name and value) if is_compare else (),
        any(name in (*NARROWING, *_NARROWING_FLAGS) for name, _ in pairs),
        results,
    )


def result_file(outputs: Sequence[str]) -> str:
    """Return the first report file of a run that another command can read."""
    names = (name for name in outputs if name.endswith(_RESULT_FILE) and not name.endswith(_OTHER_FORMS))
    return next(names, "")


def without_secrets(words: Sequence[str]) -> list[str]:
    """Return the words with only the names of secrets: their values come from the environment, or from the
    user."""
    safe_words, previous = [], ""
    for word in words:
        option, equals, attached_value = word.partition("=")
        is_attached = option == "--secret" and bool(equals)
        name, _, _ = (attached_value if is_attached else word).partition("=")
        safe_words.append(f"--secret={name}" if is_attached else name if previous == "--secret" else word)
        previous = word
    return safe_words


def _options(words: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """Yield names with their values, None for a flag; arguments between the options have an empty name."""
    remaining = iter(words)
    for word in remaining:
        name, equals, value = word.partition("=")
        if word == "--":
            yield from (("", path) for path in remaining)
        elif not word.startswith("-") or word == "-":
            yield "", word
        elif word in _WITH_VALUE:
            yield word, next(remaining, "")
        elif equals and name.startswith("--"):
            yield name, value
        elif word[:2] in _WITH_VALUE:
            yield word[:2], word[2:]
        else:
            yield word, None


def _repeat_options(
    pairs: Sequence[tuple[str, str | None]], names: Sequence[str], flags: Sequence[str] = ()
) -> Iterator[str]:
    for name, value in pairs:
        if name in flags:
            yield name
        elif name in names and value is not None:
            yield from without_secrets([name, value])
