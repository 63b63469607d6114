"""The encoder behind `embedding`: BERT in the layout of MiniLM, its weights read from a folder and computed
with numpy. Only numbers are read from the folder; a pickle, which could run a program, never is. Only
networks like MiniLM can be run: one that computes differently would give meaningless numbers without an
error."""

import math
import os
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar

from baselinekit.errors import InvalidInput, Problem
from baselinekit.files.jsontext import decode
from baselinekit.model.values import Json
from baselinekit.structs import AtLeastOne, Struct, convert, field

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
    return InvalidInput(Problem("BK651", f"the model in {folder} cannot be used: {reason}", hint))


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
        raise unusable_model(folder, "1_Pooling says that its vectors are not the mean over the tokens")
    return shape


def _read(folder: str, name: str, kind: type[T], missing: Json) -> T:
    """Read a JSON file of the folder; `missing` stands for one that does not exist."""
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
