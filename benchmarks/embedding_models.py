"""Makes the models for `benchmarks.embedding` out of all-MiniLM-L6-v2, in the environment that has torch: the
same network as ONNX, which fastembed reads, and the static vectors of its tokens, which model2vec reads."""

import shutil
import sys
from importlib import import_module
from pathlib import Path
from typing import Any


def static(models: Path) -> None:
    distilled = import_module("model2vec.distill").distill(model_name=str(models / "minilm"), pca_dims=256)
    distilled.save_pretrained(str(models / "static"))


def onnx(models: Path) -> None:
    torch, transformers = import_module("torch"), import_module("transformers")
    source, target = models / "minilm", models / "onnx"
    target.mkdir(exist_ok=True)
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
        shutil.copy(source / name, target)
    model = transformers.AutoModel.from_pretrained(str(source), attn_implementation="eager").eval()
    words = ["the cat sat", "a dog ran over the hill"]
    tokens = transformers.AutoTokenizer.from_pretrained(str(source))(words, return_tensors="pt", padding=True)
    names = ["input_ids", "attention_mask", "token_type_ids"]

    def forward(self: Any, *given: Any) -> Any:
        return self.model(**dict(zip(names, given, strict=True))).last_hidden_state

    states = type("States", (torch.nn.Module,), {"forward": forward})()
    states.model = model
    torch.onnx.export(
        states,
        tuple(tokens[name] for name in names),
        str(target / "model.onnx"),
        input_names=names,
        output_names=["last_hidden_state"],
        dynamic_axes={name: {0: "texts", 1: "tokens"} for name in [*names, "last_hidden_state"]},
        dynamo=False,
        opset_version=17,
    )


if __name__ == "__main__":
    static(Path(sys.argv[1]))
    onnx(Path(sys.argv[1]))
