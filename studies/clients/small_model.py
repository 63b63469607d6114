"""A sentence model in a folder, small enough for plain Python: the layout of MiniLM, weights by chance.
`slowly` is its arithmetic once more, straight from what BERT is."""

import json
import math
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

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
TOKENIZER: dict[str, Any] = {
    "version": "1.0",
    "truncation": {"max_length": 5, "strategy": "LongestFirst", "stride": 0},
    "padding": {
        "strategy": {"Fixed": 9},
        "direction": "Right",
        "pad_to_multiple_of": None,
        "pad_id": 0,
        "pad_type_id": 0,
        "pad_token": "[PAD]",
    },
    "added_tokens": [
        {
            "id": number,
            "content": WORDS[number],
            "special": True,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
        }
        for number in range(4)
    ],
    "normalizer": {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": True,
        "strip_accents": None,
        "lowercase": True,
    },
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "post_processor": {
        "type": "TemplateProcessing",
        "single": [
            {"SpecialToken": {"id": "[CLS]", "type_id": 0}},
            {"Sequence": {"id": "A", "type_id": 0}},
            {"SpecialToken": {"id": "[SEP]", "type_id": 0}},
        ],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {
            "[CLS]": {"id": "[CLS]", "ids": [2], "tokens": ["[CLS]"]},
            "[SEP]": {"id": "[SEP]", "ids": [3], "tokens": ["[SEP]"]},
        },
    },
    "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
    "model": {
        "type": "WordPiece",
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
        "vocab": {word: number for number, word in enumerate(WORDS)},
    },
}


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
    rows = [row for part in parts for row in _rows([WORDS.index(word) for word in part], given)]
    total = [sum(column) for column in zip(*rows, strict=True)]
    length = math.sqrt(sum(figure * figure for figure in total))
    return [figure / length for figure in total]


Row = list[float]


def _rows(ids: list[int], given: Weights) -> list[Row]:
    words, places, kinds = (
        given[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type")
    )
    rows = [
        _norm(
            [a + b + c for a, b, c in zip(words[token], places[at], kinds[0], strict=True)],
            given,
            "embeddings",
        )
        for at, token in enumerate(ids)
    ]
    for layer in range(CONFIG["num_hidden_layers"]):
        name = f"encoder.layer.{layer}"
        attention = _attention(rows, given, f"{name}.attention.self")
        attended = [_dense(row, given, f"{name}.attention.output.dense") for row in attention]
        rows = [
            _norm(_sum(a, b), given, f"{name}.attention.output") for a, b in zip(rows, attended, strict=True)
        ]
        inner = [[_gelu(x) for x in _dense(row, given, f"{name}.intermediate.dense")] for row in rows]
        outer = [_dense(row, given, f"{name}.output.dense") for row in inner]
        rows = [_norm(_sum(a, b), given, f"{name}.output") for a, b in zip(rows, outer, strict=True)]
    return rows


def _attention(rows: list[Row], given: Weights, name: str) -> list[Row]:
    queries, keys, values = ([_dense(row, given, f"{name}.{what}") for row in rows] for what in _SELF)
    width = CONFIG["hidden_size"] // CONFIG["num_attention_heads"]
    found = []
    for query in queries:
        seen: Row = []
        for head in range(0, CONFIG["hidden_size"], width):
            span = slice(head, head + width)
            weights = [math.exp(_dot(query[span], key[span]) / math.sqrt(width)) for key in keys]
            shares = [weight / sum(weights) for weight in weights]
            columns = zip(*(value[span] for value in values), strict=True)
            seen += [_dot(shares, column) for column in columns]
        found.append(seen)
    return found


_SELF = ("query", "key", "value")


def _dense(row: Row, given: Weights, name: str) -> Row:
    pairs = zip(given[f"{name}.weight"], given[f"{name}.bias"], strict=True)
    return [_dot(row, to) + bias for to, bias in pairs]


def _norm(row: Row, given: Weights, name: str) -> Row:
    middle = sum(row) / len(row)
    spread = math.sqrt(sum((x - middle) ** 2 for x in row) / len(row) + CONFIG["layer_norm_eps"])
    pairs = zip(row, given[f"{name}.LayerNorm.weight"], given[f"{name}.LayerNorm.bias"], strict=True)
    return [(x - middle) / spread * weight + bias for x, weight, bias in pairs]


def _gelu(x: float) -> float:
    return x / 2 * (1 + math.erf(x / math.sqrt(2)))


def _dot(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def _sum(one: Row, other: Row) -> Row:
    return [a + b for a, b in zip(one, other, strict=True)]
