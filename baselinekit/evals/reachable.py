"""A threshold that cannot be met is an error before anything is asked: nobody pays for a run whose end is
known."""

from collections.abc import Mapping

from baselinekit.errors import InvalidInput, Problem
from baselinekit.evals.measuring import asked_for
from baselinekit.model.baselines import Source
from baselinekit.model.evals import Suite
from baselinekit.plural import many
from baselinekit.store.baselines import locate


def check_reachable(
    suite: Suite, stated: Mapping[str, float], attempts: int | None, root: str, whose: str = ""
) -> None:
    """Thresholds of a suite, and those that the operator or a gate has `stated` beside them, for a run that
    makes so many attempts; InvalidInput for those that ask for more attempts than that."""
    made = attempts or suite.config.attempts
    problems = []
    asked_for({**suite.thresholds, **stated})
    for name, least in {**suite.thresholds, **stated}.items():
        for sign, k in asked_for({name: least}):
            if sign != "@" or k <= made:
                continue
            what = f"pass@{k} cannot be met: nobody can tell it from {many(made, 'attempt')} a case"
            mend = f"make {k}, by `config: {{attempts: {k}}}` or --attempts {k}, or ask for pass@{made}"
            problem = Problem("BK724", what, mend)
            own = suite.file is not None and name not in stated
            if own:
                source = Source(suite.file or "", at=suite.at)
                problem = problem.placed(locate(source, ("thresholds", name), root))
            elif whose:
                problem = Problem("BK724", f"{whose}: {what}", mend)
            problems.append(problem)
    if problems:
        raise InvalidInput(*problems)
