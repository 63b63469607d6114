"""Whether what came back still belongs to the baseline: it was set against one output, by some rules."""

from hashlib import blake2b

from baselinekit.documents.languages import canonical
from baselinekit.model.baselines import Baseline


def compared_with(baseline: Baseline) -> str:
    """A short name for the output and the rules of a baseline: of any others it is another one. In which
    order the keys of an object stand does not matter."""
    output = baseline.baseline.output if baseline.baseline else None
    told = f"{canonical(output)}\n{baseline.comparison!r}"
    return blake2b(told.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
