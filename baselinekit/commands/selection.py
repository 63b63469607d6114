"""Which baselines a run covers: by id, by tag, by an expression (`-k "users and not slow"`), by shard."""

import ast
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from hashlib import sha256
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from baselinekit.commands.project import Project
from baselinekit.errors import InvalidInput, NothingSelected, Problem, suggest
from baselinekit.kinds.dispatch import digest
from baselinekit.lazy import lazy_pattern
from baselinekit.model.baselines import Baseline, Entry
from baselinekit.model.recipes import Variable
from baselinekit.model.results import Coverage, Shard
from baselinekit.structs import Struct, replace

if TYPE_CHECKING:
    from baselinekit.model.evals import Case

_WORD = lazy_pattern(r"[()]|[^\s()]+")
_OPERATORS = ("and", "or", "not", "(", ")")
_NODES = (ast.BoolOp, ast.boolop, ast.UnaryOp, ast.unaryop, ast.Name, ast.expr_context)
_MOST_NAMED = 8
_GLOB = frozenset("*?[")


Selectable: TypeAlias = "Baseline | Entry | Case"
Chosen = TypeVar("Chosen", Baseline, Entry)
Test = Callable[[Selectable], bool]


class Selection(Struct):
    ids: Sequence[str] = ()
    tags: Sequence[str] = ()
    exclude_tags: Sequence[str] = ()
    expression: str | None = None
    among: frozenset[str] | None = None
    """Only these ids: those that failed last time."""
    first: frozenset[str] = frozenset()
    """These ids run before the others."""
    shard: Shard | None = None
    since: str | None = None
    """Only what has changed since this commit."""

    def coverage(self, paths: Sequence[str], left_out: int) -> Coverage:
        """Return what a run was narrowed to, as the result file states it."""
        criteria = {
            "paths": list(paths),
            "ids": list(self.ids),
            "tags": list(self.tags),
            "exclude_tags": list(self.exclude_tags),
            "expression": self.expression,
            "last_failed": self.among is not None,
            "changed_since": self.since,
        }
        return Coverage({name: value for name, value in criteria.items() if value}, left_out)


def select(baselines: Sequence[Chosen], selection: Selection) -> list[Chosen]:
    """Return the chosen ones, in their order. An empty selection is an error: a run that cannot fail must not
    pass."""
    chosen = list(filter(test_of(selection), baselines))
    if not chosen:
        raise NothingSelected(_no_match(baselines, selection))
    return chosen


def test_of(selection: Selection) -> Test:
    """Return a test whether a baseline is chosen by its id, its name and its tags."""
    plain = frozenset(id for id in selection.ids if _GLOB.isdisjoint(id))
    globs = [glob for glob in selection.ids if glob not in plain]
    tags, excluded, among = {*selection.tags}, {*selection.exclude_tags}, selection.among
    mentions = expression(selection.expression) if selection.expression else lambda baseline: True
    return lambda baseline: (
        (not selection.ids or baseline.id in plain or any(fnmatchcase(baseline.id, glob) for glob in globs))
        and not (tags and tags.isdisjoint(baseline.tags))
        and excluded.isdisjoint(baseline.tags)
        and mentions(baseline)
        and (among is None or baseline.id in among)
    )


def wanted(selection: Selection) -> Test:
    """Return a test whether a baseline is chosen and belongs to the shard."""
    test, shard = test_of(selection), selection.shard
    return lambda one: test(one) and (shard is None or shard_of(one.id, shard.of) == shard.number)


def _no_match(baselines: Sequence[Selectable], selection: Selection) -> Problem:
    if not baselines:
        return Problem(
            "BK509", "there are no baselines here", "capture one: baselinekit capture http GET URL"
        )
    ids = [baseline.id for baseline in baselines]
    tags = sorted({tag for baseline in baselines for tag in baseline.tags})
    message = f"none of the {len(baselines)} baselines is selected"
    if selection.among is not None:
        message = "nothing is selected of what did not pass last time"
    hint = f"the ids are {list_names(ids)}" + (f"; the tags are {list_names(tags)}" if tags else "")
    named = (*selection.ids, *selection.tags)
    return Problem("BK509", message, suggest(named[0], [*ids, *tags]) or hint if named else hint)


def list_names(names: Sequence[str]) -> str:
    """List the first of many names, and how many more there are."""
    remaining = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f", and {remaining:,} more" if remaining > 0 else "")


def expression(text: str) -> Test:
    """Parse `and`, `or`, `not` and parentheses over words; a word is a part of the id, the name or a tag."""
    words = _WORD.findall(text)
    source = " ".join(word if word in _OPERATORS else f"_{n}" for n, word in enumerate(words))
    try:
        tree = ast.parse(source, mode="eval").body
    except (SyntaxError, MemoryError, RecursionError):
        tree = ast.Tuple([])
    if not all(isinstance(node, _NODES) for node in ast.walk(tree)):
        message = f"the expression {text!r} cannot be read"
        raise InvalidInput(Problem("BK508", message, 'as in "users and not slow"'))

    def holds(node: ast.AST, texts: Sequence[str]) -> bool:
        if isinstance(node, ast.BoolOp):
            return (all if isinstance(node.op, ast.And) else any)(holds(one, texts) for one in node.values)
        if isinstance(node, ast.UnaryOp):
            return not holds(node.operand, texts)
        assert isinstance(node, ast.Name)
        part = words[int(node.id[1:])].casefold()
        return any(part in text.casefold() for text in texts)

    return lambda baseline: holds(tree, (baseline.id, baseline.name or "", *baseline.tags))


# Sharding: which baseline belongs to which shard of a run, and its position in the whole run.


MOST = 10_000
_FORM = lazy_pattern(r"(\d{1,9})/(\d{1,9})")


def parse_shard(text: str) -> Shard:
    """Parse `2/4`: the second of four."""
    match = _FORM.fullmatch(text)
    number, of = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= number <= of <= MOST:
        message = f"--shard {text!r} is not NUMBER/OF, from 1/OF to OF/OF, with at most {MOST:,} shards"
        raise InvalidInput(Problem("BK508", message, "as in --shard 2/4"))
    return Shard(number, of, 0)


def shard_of(id: str, of: int) -> int:
    """Return the shard of a baseline: it depends on its id alone, on every machine and in every version."""
    return int.from_bytes(sha256(id.encode("utf-8", "surrogatepass")).digest()[:8], "big") % of + 1


def stamp_shard(shard: Shard, project: Project, chosen: Sequence[Entry], strict_rules: bool) -> Shard:
    """Return the shard with what all shards of a run have in common, so that `merge` can check it. What a
    file records of its runs does not count, and neither does a variable that each machine's environment sets:
    that may well be the number of a job."""
    config = project.config
    declared = [*config.variables.items()]
    if project.operator.environment is not None:
        declared += config.environments[project.operator.environment].variables.items()
    from_env = {name for name, spec in declared if isinstance(spec, Variable) and spec.from_env}
    values = {name: value for name, value in project.scope.values.items() if name not in from_env}
    models = {name: [model, project.models[name]] for name, model in config.models.items()}
    base_url = project.override_base_url or project.base_url
    environment = f"environment {project.operator.environment}" if project.operator.environment else ""
    target = ", ".join(filter(None, (project.redactor.mask(str(base_url)) if base_url else "", environment)))
    return replace(
        shard,
        total=len(chosen),
        target=target or "as the files say",
        configuration=digest([replace(config, variables={}, environments={}), values, models, strict_rules]),
        content=digest([[entry.id, entry.content] for entry in sorted(chosen, key=lambda entry: entry.id)]),
    )
