"""Which hosts of new baselines the configuration has to name, before CI asks them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from baselinekit.errors import BaselinekitError, Refused
from baselinekit.model.recipes import HttpExecution, HttpFlow, Recipe
from baselinekit.trust import origin
from baselinekit.workflow.project import Project

_PORTS = {"http": 80, "https": 443}


def unnamed(
    project: Project, recipes: Iterable[Recipe], look: Callable[[str, int], Sequence[str]]
) -> list[str]:
    """The origins that a compare in CI would not ask, as people write them. What has no address here says
    nothing of the one that it has there."""
    trust = replace(project.trust, ci=True)
    found = []
    for url in dict.fromkeys(url for recipe in recipes for url in _asked(project, recipe)):
        parts = urlsplit(url)
        try:
            known = look(parts.hostname or "", parts.port or _PORTS[parts.scheme])
        except (OSError, ValueError, KeyError):
            known = []
        try:
            trust.check_request(url)
            for address in known:
                trust.check_address(url, address)
        except Refused:
            found.append(_short(url))
    return list(dict.fromkeys(found))


def _asked(project: Project, recipe: Recipe) -> Iterator[str]:
    """Where the recipe says that its requests go. An address that the operator gave in its place is given
    again."""
    if not isinstance(recipe.execution, HttpExecution) or project.override_base_url is not None:
        return
    steps = recipe.input.steps if isinstance(recipe.input, HttpFlow) else [recipe.input]
    for text in (recipe.execution.base_url, *(getattr(step, "url", None) for step in steps)):
        try:
            url = project.scope.expand(text, ()) if text else None
            if isinstance(url, str) and url:
                origin(url)
                yield url
        except BaselinekitError:  # what only a run can know
            continue


def _short(url: str) -> str:
    """The origin as people write it: without the port that goes without saying."""
    where = origin(url)
    scheme, _, _ = where.partition("://")
    return where.removesuffix(f":{_PORTS[scheme]}")
