"""The recipe kinds, one row each."""

from baselinekit.kinds import cli, command, echo, http, mock, post, prompt, skill, stored
from baselinekit.kinds.kind import RecipeKind
from baselinekit.model.recipes import Recipe

KINDS: dict[str, RecipeKind] = {
    kind.name: kind
    for kind in (
        http.KIND,
        command.KIND,
        skill.KIND,
        prompt.KIND,
        echo.KIND,
        cli.KIND,
        mock.KIND,
        post.KIND,
        stored.KIND,
    )
}


def kind_of(recipe: Recipe) -> RecipeKind:
    """Also of a `current:` that has just been read."""
    return KINDS[recipe.execution.type]
