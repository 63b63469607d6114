"""What a model's folder says of the model. Only what MiniLM is can be run: a network that computes in another
way would give figures without an error, and they would mean nothing."""

import os
from dataclasses import dataclass

from baselinekit.documents.jsontext import NotJson, decode
from baselinekit.errors import InvalidInput, Problem
from baselinekit.model.values import Json

WEIGHTS = "model.safetensors"
FILES = ("config.json", "tokenizer.json", WEIGHTS)
_MOST_BYTES = 1_000_000
_MOST_OF_A_SIZE = 1_000_000
_SIZES = {
    "words": "vocab_size",
    "places": "max_position_embeddings",
    "kinds": "type_vocab_size",
    "hidden": "hidden_size",
    "inner": "intermediate_size",
    "heads": "num_attention_heads",
    "layers": "num_hidden_layers",
}
_SAME = {"model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute"}
_STEPS = {"Transformer", "Pooling", "Normalize"}


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of the network. `most_tokens`: what it was made to see at once, if the folder says it."""

    words: int
    places: int
    kinds: int
    hidden: int
    inner: int
    heads: int
    layers: int
    epsilon: float
    most_tokens: int | None


def unusable(folder: str, why: str) -> InvalidInput:
    hint = f"name a folder with the files of a sentence model like all-MiniLM-L6-v2: {', '.join(FILES)}"
    return InvalidInput(Problem("BK651", f"the model in {folder} cannot be used: {why}", hint))


def shape_of(folder: str) -> Shape:
    for name in FILES:
        if not os.path.isfile(os.path.join(folder, name)):  # a link is one: that is how caches keep models
            pickled = os.path.exists(os.path.join(folder, "pytorch_model.bin")) and name == WEIGHTS
            raise unusable(folder, f"it has no file {name}{' (a pickle is not loaded)' if pickled else ''}")
    config = _object(folder, "config.json")
    for name, wanted in _SAME.items():
        if config.get(name, wanted) != wanted:
            told = f"{config[name]!r:.40}"
            raise unusable(folder, f"config.json says {name}: {told}, and only {wanted!r} can be run")
    sizes = {name: _whole(folder, config, key) for name, key in _SIZES.items()}
    if sizes["hidden"] % sizes["heads"]:
        raise unusable(folder, "hidden_size in config.json cannot be divided by num_attention_heads")
    epsilon = config.get("layer_norm_eps", 1e-12)
    if isinstance(epsilon, str | bool | list | dict | None) or not 0 < epsilon < 1:
        raise unusable(folder, "config.json has no usable layer_norm_eps")
    _check_steps(folder)
    sentences = _object(folder, "sentence_bert_config.json")
    known = sentences.get("max_seq_length") is not None
    most_tokens = _whole(folder, sentences, "max_seq_length") if known else None
    return Shape(**sizes, epsilon=float(epsilon), most_tokens=most_tokens)


def _check_steps(folder: str) -> None:
    """What surrounds the network, where the folder says it: the mean over all tokens, and no more layers."""
    modules = _json(folder, "modules.json")
    for module in modules if isinstance(modules, list) else []:
        step = str(module.get("type")).rpartition(".")[2] if isinstance(module, dict) else ""
        if step not in _STEPS:
            raise unusable(folder, f"modules.json has a step {step!r:.40}, which cannot be run")
    pooling = _object(folder, os.path.join("1_Pooling", "config.json"))
    modes = {
        name for name, on in pooling.items() if name.startswith("pooling_mode") and on not in (False, None)
    }
    if not modes <= {"pooling_mode_mean_tokens"} and pooling.get("pooling_mode") != "mean":
        raise unusable(folder, "1_Pooling says that its vectors are not the mean over the tokens")


def _whole(folder: str, config: dict[str, Json], key: str) -> int:
    size = config.get(key)
    if not isinstance(size, int) or isinstance(size, bool) or not 0 < size <= _MOST_OF_A_SIZE:
        raise unusable(folder, f"it has no usable {key}")
    return size


def _object(folder: str, name: str) -> dict[str, Json]:
    found = _json(folder, name)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise unusable(folder, f"{name} is not a JSON object")
    return found


def _json(folder: str, name: str) -> Json:
    """None for a file that is not there."""
    path = os.path.join(folder, name)
    if not os.path.isfile(path):
        return None
    try:
        with open(path, "rb") as file:
            raw = file.read(_MOST_BYTES + 1)
        if len(raw) > _MOST_BYTES:
            raise unusable(folder, f"{name} has more than {_MOST_BYTES:,} bytes")
        return decode(raw.decode("utf-8-sig"))
    except OSError as error:
        raise unusable(folder, f"{name} cannot be read ({error.strerror})") from None
    except (UnicodeDecodeError, NotJson) as error:
        raise unusable(folder, f"{name} is not JSON ({error})") from None
