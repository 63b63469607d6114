"""One engine of `benchmarks.embedding`, in the Python of an environment that has it and little else: given an
engine, a folder of models and texts on standard input, it prints its vectors and what they cost."""

import json
import resource
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

Vectors = Callable[[Sequence[str]], Any]
ROUNDS = 15


def ours(models: Path) -> Callable[[], Vectors]:
    sys.path.insert(0, str(Path(__file__).parent.parent))
    embedding = import_module("baselinekit.clients.models.embedding")
    for name in embedding.LIBRARIES[1:]:
        import_module(name)

    def load() -> Vectors:
        model = embedding.Embedding(str(models / "minilm"))
        return lambda texts: model.vectors(texts)

    return load


def sentence_transformers(models: Path) -> Callable[[], Vectors]:
    library = import_module("sentence_transformers")

    def load() -> Vectors:
        model = library.SentenceTransformer(str(models / "minilm"), device="cpu", local_files_only=True)
        return lambda texts: model.encode(texts, normalize_embeddings=True)

    return load


def fastembed(models: Path) -> Callable[[], Vectors]:
    library, described = import_module("fastembed"), import_module("fastembed.common.model_description")

    def load() -> Vectors:
        library.TextEmbedding.add_custom_model(
            model="local",
            pooling=described.PoolingType.MEAN,
            normalization=True,
            sources=described.ModelSource(hf="local/local"),
            dim=384,
            model_file="model.onnx",
        )
        model = library.TextEmbedding("local", specific_model_path=str(models / "onnx"))
        return lambda texts: list(model.embed(texts))

    return load


def model2vec(models: Path) -> Callable[[], Vectors]:
    library = import_module("model2vec")

    def load() -> Vectors:
        model = library.StaticModel.from_pretrained(str(models / "static"))
        return lambda texts: model.encode(texts)

    return load


ENGINES = {
    "ours": ours,
    "fastembed": fastembed,
    "model2vec": model2vec,
    "sentence-transformers": sentence_transformers,
}


def main(engine: str, models: Path) -> None:
    texts = json.load(sys.stdin)
    began = time.perf_counter()
    load = ENGINES[engine](models)
    imported = time.perf_counter()
    vectors = load()
    vectors(texts[:1])
    first = time.perf_counter()
    found = [[float(figure) for figure in vector] for vector in vectors(texts)]
    one = [_seconds(vectors, f"{text} {at}") for at, text in enumerate(texts[:ROUNDS])]
    long = [_seconds(vectors, " ".join(texts[at : at + 22])) for at in range(5)]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    costs = {
        "import": imported - began,
        "first": first - imported,
        "sentence": statistics.median(one),
        "long": statistics.median(long),
        "peak": peak,
    }
    json.dump({"vectors": found, "costs": costs}, sys.stdout)


def _seconds(vectors: Vectors, text: str) -> float:
    before = time.perf_counter()
    vectors([text])
    return time.perf_counter() - before


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
