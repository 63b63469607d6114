"""A small sentence model in a folder: the layout of MiniLM, weights by chance. `slowly` is its arithmetic,
in double precision and straight from what BERT is."""

import json
import math
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "cat", "dog", "sat", "ran", "on", "a", "mat", "ship"]
WORDS += ["##s", "##ped", "not", ".", ",", "!"]
CONFIG: dict[str, Any] = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "max_position_embeddings": 20,
    "type_vocab_size": 2,
    "vocab_size": len(WORDS),
    "layer_norm_eps": 1e-12,
}
MOST_TOKENS = 12


def _tokenizer() -> dict[str, Any]:
    """Its own truncation and padding have to be ignored."""
    vocabulary = {word: number for number, word in enumerate(WORDS)}
    tokenizer = Tokenizer(WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.add_special_tokens(WORDS[:4])
    tokenizer.normalizer = BertNormalizer()
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.post_processor = TemplateProcessing("[CLS] $A [SEP]", "$A $B:1", [("[CLS]", 2), ("[SEP]", 3)])
    tokenizer.enable_truncation(5)
    tokenizer.enable_padding(length=9, pad_token="[PAD]")
    stored: dict[str, Any] = json.loads(tokenizer.to_str())
    return stored


TOKENIZER = _tokenizer()
Weights = dict[str, Any]


def weights(seed: int = 1) -> Weights:
    chance = random.Random(seed)
    hidden, inner = CONFIG["hidden_size"], CONFIG["intermediate_size"]

    def some(*size: int, middle: float = 0.0) -> Any:
        if len(size) == 1:
            return [chance.gauss(middle, 0.4) for _ in range(size[0])]
        return [some(*size[1:]) for _ in range(size[0])]

    found: Weights = {
        "embeddings.word_embeddings.weight": some(CONFIG["vocab_size"], hidden),
        "embeddings.position_embeddings.weight": some(CONFIG["max_position_embeddings"], hidden),
        "embeddings.token_type_embeddings.weight": some(CONFIG["type_vocab_size"], hidden),
        "pooler.dense.weight": some(hidden, hidden),
    }
    steps = {"attention.self.query": (hidden, hidden), "attention.self.key": (hidden, hidden)}
    steps |= {"attention.self.value": (hidden, hidden), "attention.output.dense": (hidden, hidden)}
    steps |= {"intermediate.dense": (inner, hidden), "output.dense": (hidden, inner)}
    norms = ["embeddings.LayerNorm"]
    for layer in range(CONFIG["num_hidden_layers"]):
        for name, size in steps.items():
            found[f"encoder.layer.{layer}.{name}.weight"] = some(*size)
            found[f"encoder.layer.{layer}.{name}.bias"] = some(size[0])
        norms += [f"encoder.layer.{layer}.{name}.LayerNorm" for name in ("attention.output", "output")]
    for name in norms:
        found[f"{name}.weight"] = some(hidden, middle=1.0)
        found[f"{name}.bias"] = some(hidden)
    return found


def write(
    folder: Path,
    config: Mapping[str, Any] | None = None,
    changed: Mapping[str, Any] | None = None,
    figures: str = "float32",
) -> Path:
    """A model's folder; a weight that is None is left out."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(CONFIG | dict(config or {})), "utf-8")
    (folder / "tokenizer.json").write_text(json.dumps(TOKENIZER), "utf-8")
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": MOST_TOKENS}), "utf-8")
    kept = {name: value for name, value in (weights() | dict(changed or {})).items() if value is not None}
    arrays = {name: np.array(value, figures) for name, value in kept.items()}
    save_file(arrays, folder / "model.safetensors")
    return folder


def slowly(parts: Sequence[Sequence[str]], given: Weights) -> list[float]:
    """The vector of a text that is seen in these parts, the marks of each included."""
    arrays = {name: np.array(value, "float64") for name, value in given.items()}
    total = sum(_rows([WORDS.index(word) for word in part], arrays).sum(axis=0) for part in parts)
    vector: list[float] = (total / np.linalg.norm(total)).tolist()
    return vector


def _rows(ids: list[int], given: Weights) -> Any:
    def dense(rows: Any, name: str) -> Any:
        return rows @ given[f"{name}.weight"].T + given[f"{name}.bias"]

    def norm(rows: Any, name: str) -> Any:
        middle, spread = rows.mean(axis=1, keepdims=True), rows.var(axis=1, keepdims=True)
        scaled = (rows - middle) / np.sqrt(spread + CONFIG["layer_norm_eps"])
        return scaled * given[f"{name}.LayerNorm.weight"] + given[f"{name}.LayerNorm.bias"]

    words, places, kinds = (
        given[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type")
    )
    rows = norm(words[ids] + places[: len(ids)] + kinds[0], "embeddings")
    width = CONFIG["hidden_size"] // CONFIG["num_attention_heads"]
    for layer in range(CONFIG["num_hidden_layers"]):
        name = f"encoder.layer.{layer}"
        query, key, value = (
            dense(rows, f"{name}.attention.self.{part}") for part in ("query", "key", "value")
        )
        heads = []
        for start in range(0, CONFIG["hidden_size"], width):
            head = slice(start, start + width)
            scores = np.exp(query[:, head] @ key[:, head].T / math.sqrt(width))
            heads.append(scores / scores.sum(axis=1, keepdims=True) @ value[:, head])
        attended = dense(np.concatenate(heads, axis=1), f"{name}.attention.output.dense")
        rows = norm(rows + attended, f"{name}.attention.output")
        inner = np.vectorize(_gelu)(dense(rows, f"{name}.intermediate.dense"))
        rows = norm(rows + dense(inner, f"{name}.output.dense"), f"{name}.output")
    return rows


def _gelu(x: float) -> float:
    return x / 2 * (1 + math.erf(x / math.sqrt(2)))
