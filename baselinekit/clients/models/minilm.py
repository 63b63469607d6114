"""The encoder behind `embedding`: BERT in the layout of MiniLM, its weights read from a folder and computed
with numpy. Only numbers are read from the folder; a pickle, which could run a program, never is."""

from __future__ import annotations

import math
import os
from array import array
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

from baselinekit.errors import InvalidInput, Problem
from baselinekit.files.jsontext import NotJson, decode
from baselinekit.model.values import Json
from baselinekit.structs import Struct, convert, field, fields

# The configuration in a model's folder. Only networks like MiniLM can be run: one that computes differently
# would give meaningless numbers without an error.

WEIGHTS = "model.safetensors"
FILES = ("config.json", "tokenizer.json", WEIGHTS)
_MOST_BYTES = 1_000_000
_MOST_OF_A_SIZE = 1_000_000
_SAME = {"model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute"}
_STEPS = {"Transformer", "Pooling", "Normalize"}


class Shape(Struct, forbid_unknown_fields=False):
    """The sizes of the network, as config.json states them."""

    words: int = field(name="vocab_size")
    places: int = field(name="max_position_embeddings")
    kinds: int = field(name="type_vocab_size")
    hidden: int = field(name="hidden_size")
    inner: int = field(name="intermediate_size")
    heads: int = field(name="num_attention_heads")
    layers: int = field(name="num_hidden_layers")
    epsilon: float = field(name="layer_norm_eps", default=1e-12)


def unusable_model(folder: str, reason: str) -> InvalidInput:
    hint = f"name a folder with the files of a sentence model like all-MiniLM-L6-v2: {', '.join(FILES)}"
    return InvalidInput(Problem("BK651", f"the model in {folder} cannot be used: {reason}", hint))


def shape_of(folder: str) -> Shape:
    for name in FILES:
        if not os.path.isfile(os.path.join(folder, name)):  # a link counts: caches store models as links
            pickled = os.path.exists(os.path.join(folder, "pytorch_model.bin")) and name == WEIGHTS
            reason = f"it has no file {name}{' (a pickle is not loaded)' if pickled else ''}"
            raise unusable_model(folder, reason)
    config = _object(folder, "config.json")
    for name, supported in _SAME.items():
        if config.get(name, supported) != supported:
            reason = f"config.json says {name}: {config[name]!r:.40}, and only {supported!r} can be run"
            raise unusable_model(folder, reason)
    try:
        shape = convert(config, Shape)
    except ValueError as error:
        raise unusable_model(folder, f"config.json has no usable sizes: {error}") from None
    sizes = (getattr(shape, key.name) for key in fields(Shape) if key.type is int)
    if not all(0 < size <= _MOST_OF_A_SIZE for size in sizes) or not 0 < shape.epsilon < 1:
        raise unusable_model(folder, "config.json has no usable sizes: one is too small or too large")
    if shape.hidden % shape.heads:
        raise unusable_model(folder, "hidden_size in config.json cannot be divided by num_attention_heads")
    check_steps(folder)
    return shape


def most_tokens(folder: str) -> int | None:
    """How many tokens the network was trained to read at once, if that is stated."""
    most = _object(folder, "sentence_bert_config.json").get("max_seq_length")
    if most is not None and not (type(most) is int and 0 < most <= _MOST_OF_A_SIZE):
        raise unusable_model(folder, "it has no usable max_seq_length")
    return most


def check_steps(folder: str) -> None:
    """Check the steps around the network, if they are stated: only the mean over all tokens is supported."""
    modules = _json(folder, "modules.json")
    for module in modules if isinstance(modules, list) else []:
        step = str(module.get("type")).rpartition(".")[2] if isinstance(module, dict) else ""
        if step not in _STEPS:
            raise unusable_model(folder, f"modules.json has a step {step!r:.40}, which cannot be run")
    pooling = _object(folder, os.path.join("1_Pooling", "config.json"))
    modes = {
        name for name, on in pooling.items() if name.startswith("pooling_mode") and on not in (False, None)
    }
    if not modes <= {"pooling_mode_mean_tokens"} and pooling.get("pooling_mode") != "mean":
        raise unusable_model(folder, "1_Pooling says that its vectors are not the mean over the tokens")


def _object(folder: str, name: str) -> dict[str, Json]:
    value = _json(folder, name)
    if not isinstance(value, dict | None):
        raise unusable_model(folder, f"{name} is not a JSON object")
    return value or {}


def _json(folder: str, name: str) -> Json:
    """Read a JSON file of the folder; None if it does not exist."""
    path = os.path.join(folder, name)
    if not os.path.isfile(path):
        return None
    try:
        with open(path, "rb") as file:
            raw = file.read(_MOST_BYTES + 1)
        if len(raw) > _MOST_BYTES:
            raise unusable_model(folder, f"{name} has more than {_MOST_BYTES:,} bytes")
        return decode(raw.decode("utf-8-sig"))
    except (OSError, UnicodeDecodeError, NotJson) as error:
        raise unusable_model(folder, f"{name} is not JSON that can be read ({error})") from None


if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Figures = NDArray[np.float32]

_AT_ONCE = 1_024
"""Tokens: with 1,536 numbers each an array takes 6 MB, and a few arrays are needed at a time."""
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
_ASKING = ("self.query", "self.key", "self.value")


class _Dense(Struct):
    """A linear step, its weights laid out as numpy multiplies them fastest; or the two rows of a norm."""

    weight: Figures
    bias: Figures


class _Layer(Struct):
    asking: _Dense
    attended: _Dense
    attended_norm: _Dense
    inner: _Dense
    outer: _Dense
    outer_norm: _Dense


class Network:
    """Computes vectors of token ids. The tokens of all texts are stacked, without padding: numpy multiplies
    matrices of two dimensions fast, and no text changes the numbers of another."""

    def __init__(self, folder: str):
        self.shape = shape_of(folder)
        import_numpy()
        self._folder = folder
        weights = load_weights(folder, self.shape)
        self._words = weights["embeddings.word_embeddings.weight"]
        self._places = weights["embeddings.position_embeddings.weight"]
        self._places += weights["embeddings.token_type_embeddings.weight"][0]
        self._norm = _norm(weights, "embeddings.LayerNorm")
        self._layers = [
            _Layer(
                _dense(weights, *(f"{at}attention.{name}" for name in _ASKING)),
                _dense(weights, f"{at}attention.output.dense"),
                _norm(weights, f"{at}attention.output.LayerNorm"),
                _dense(weights, f"{at}intermediate.dense"),
                _dense(weights, f"{at}output.dense"),
                _norm(weights, f"{at}output.LayerNorm"),
            )
            for at in (f"encoder.layer.{number}." for number in range(self.shape.layers))
        ]

    def means(self, texts: Sequence[Sequence[list[int]]]) -> list[array[float]]:
        """The mean over all tokens of each text, scaled to length 1. The parts of a text are read one by
        one."""
        import numpy as np

        with np.errstate(all="ignore"):  # weights that overflow show in the results
            sums: list[Figures] = []
            for batch in _batches(part for parts in texts for part in parts):
                ends = [0, *accumulate(map(len, batch))]
                ids = np.array([token for part in batch for token in part], np.int64)
                places = np.array([place for part in batch for place in range(len(part))], np.int64)
                rows = self._run(ids, places, ends)
                sums += (rows[start:end].sum(axis=0) for start, end in pairwise(ends))
            totals = iter(sums)
            vectors = []
            for parts in texts:
                total = np.sum([next(totals) for _ in parts], axis=0, dtype=np.float32)
                length = float(np.linalg.norm(total))
                if not math.isfinite(length):
                    raise unusable_model(self._folder, "its weights give values that are not finite")
                vectors.append(array("f", (total / np.float32(max(length, 1e-12))).tobytes()))
            return vectors

    def _run(self, ids: Any, places: Any, ends: list[int]) -> Figures:
        import numpy as np

        epsilon = self.shape.epsilon
        rows = _normal(self._words[ids] + self._places[places], self._norm, epsilon)
        for layer in self._layers:
            projections, attended = _times(rows, layer.asking), np.empty_like(rows)
            for start, end in pairwise(ends):
                attended[start:end] = self._attend(projections[start:end])
            rows = _normal(rows + _times(attended, layer.attended), layer.attended_norm, epsilon)
            inner = gelu(_times(rows, layer.inner))
            rows = _normal(rows + _times(inner, layer.outer), layer.outer_norm, epsilon)
        return rows

    def _attend(self, projections: Figures) -> Figures:
        """Attention within one part. `projections` has the queries, the keys and the values side by side. One
        head is computed at a time: its numbers stay in the processor's cache, which is three times as fast as
        all heads in one step."""
        import numpy as np

        hidden, width = self.shape.hidden, self.shape.hidden // self.shape.heads
        attended = np.empty((len(projections), hidden), np.float32)
        for offset in range(0, hidden, width):
            query, key, value = (
                projections[:, column : column + width]
                for column in (offset, hidden + offset, 2 * hidden + offset)
            )
            scores = np.ascontiguousarray(query) @ np.ascontiguousarray(key.T)
            scores *= np.float32(1 / math.sqrt(width))
            scores -= scores.max(axis=-1, keepdims=True)
            np.exp(scores, out=scores)
            attended[:, offset : offset + width] = (
                scores @ np.ascontiguousarray(value) / scores.sum(axis=-1, keepdims=True)
            )
        return attended


def import_numpy() -> None:
    """Import numpy with one thread, unless the user says otherwise. Several threads hardly multiply matrices
    as small as these any faster, and on a busy machine they wait for each other: a sentence took ten times as
    long. numpy reads the setting once, when it is loaded; a program that is started later does not get it."""
    thread_settings = {} if any(name in os.environ for name in _THREADS) else dict.fromkeys(_THREADS, "1")
    os.environ.update(thread_settings)
    try:
        import_module("numpy")
    finally:
        for name in thread_settings:
            del os.environ[name]


def _batches(parts: Iterable[list[int]]) -> Iterator[list[list[int]]]:
    batch: list[list[int]] = []
    count = 0
    for part in parts:
        if batch and count + len(part) > _AT_ONCE:
            yield batch
            batch, count = [], 0
        batch.append(part)
        count += len(part)
    if batch:
        yield batch


def _times(rows: Figures, dense: _Dense) -> Figures:
    result = rows @ dense.weight
    result += dense.bias
    return result


def _normal(rows: Figures, norm: _Dense, epsilon: float) -> Figures:
    import numpy as np

    rows = rows - rows.mean(axis=-1, keepdims=True)
    rows /= np.sqrt((rows * rows).mean(axis=-1, keepdims=True) + np.float32(epsilon))
    rows *= norm.weight
    rows += norm.bias
    return rows


def gelu(rows: Figures) -> Figures:
    """x/2 (1 + erf(x/√2)). numpy has no erf: this one (Abramowitz and Stegun 7.1.26) is off by 1.5e-7 at
    most, which is the precision of the numbers themselves."""
    import numpy as np

    size = np.abs(rows) * np.float32(math.sqrt(0.5))
    t = 1 / (1 + np.float32(0.3275911) * size)
    tail = t * np.float32(1.061405429)
    for factor in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        tail += np.float32(factor)
        tail *= t
    size *= -size
    tail *= np.exp(size, out=size)
    result = np.copysign(1 - tail, rows)
    result += 1
    result *= rows
    result *= np.float32(0.5)
    return result


def load_weights(folder: str, shape: Shape) -> dict[str, Figures]:
    """Load the weights by name, checked for the sizes in config.json."""
    import numpy as np
    import safetensors

    library: Any = safetensors
    try:
        with library.safe_open(os.path.join(folder, WEIGHTS), framework="np") as file:
            sizes = {name: file.get_slice(name).get_shape() for name in file.keys()}  # noqa: SIM118
            for name, size in _expected(shape):
                if sizes.get(name) != size:
                    finding = f"has {name} in the size {sizes[name]}" if name in sizes else f"has no {name}"
                    raise unusable_model(folder, f"{WEIGHTS} {finding}, and config.json promises {size}")
            return {name: np.array(file.get_tensor(name), np.float32) for name, _ in _expected(shape)}
    except (OSError, ValueError, TypeError, library.SafetensorError) as error:
        raise unusable_model(folder, f"{WEIGHTS} is damaged, or not such a file ({error})") from None


def _expected(shape: Shape) -> Iterator[tuple[str, list[int]]]:
    hidden, inner = shape.hidden, shape.inner
    yield "embeddings.word_embeddings.weight", [shape.words, hidden]
    yield "embeddings.position_embeddings.weight", [shape.places, hidden]
    yield "embeddings.token_type_embeddings.weight", [shape.kinds, hidden]
    steps = [(f"attention.{name}", hidden, hidden) for name in (*_ASKING, "output.dense")]
    steps += [("intermediate.dense", inner, hidden), ("output.dense", hidden, inner)]
    norms = ["embeddings.LayerNorm"]
    for layer in (f"encoder.layer.{number}." for number in range(shape.layers)):
        for name, rows, columns in steps:
            yield f"{layer}{name}.weight", [rows, columns]
            yield f"{layer}{name}.bias", [rows]
        norms += [f"{layer}attention.output.LayerNorm", f"{layer}output.LayerNorm"]
    for name in norms:
        yield f"{name}.weight", [hidden]
        yield f"{name}.bias", [hidden]


def _dense(weights: dict[str, Figures], *names: str) -> _Dense:
    """One linear step, or several with the same input joined into one. The weights are taken out of the
    mapping, so that they are in memory only once."""
    import numpy as np

    weight = np.concatenate([weights.pop(f"{name}.weight") for name in names])
    bias = np.concatenate([weights.pop(f"{name}.bias") for name in names])
    return _Dense(np.ascontiguousarray(weight.T), bias)


def _norm(weights: dict[str, Figures], name: str) -> _Dense:
    return _Dense(weights[f"{name}.weight"], weights[f"{name}.bias"])
