"""`baselinekit capture` and its kinds."""

import click

from baselinekit.cli.capturing import (
    capture_command,
    capture_curl,
    capture_http,
    capture_prompt,
    capture_skill,
)
from baselinekit.cli.importing import capture_files
from baselinekit.importers.curl import is_curl

FILES = ""
"""The name of the command that captures what files ask for: it is typed without one."""


class Kinds(click.Group):
    """The kind may be left out: a method or a URL is a request, a curl line one of curl, any other word a
    file."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for name in self.commands if name != FILES]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and is_curl(args[0].split(" ")[0]):
            from baselinekit.importers.shell import split_words

            line = split_words(args[0]) if " " in args[0] else [args[0]]
            args = ["curl", *line[1:], *args[1:]]
        elif args and args[0] not in (*self.list_commands(ctx), "-h", "--help"):
            word = args[-1] if args[0].startswith("-") else args[0]
            is_request = "://" in word or (word.isalpha() and word.isupper())
            args = ["http" if is_request else FILES, *args]
        return super().parse_args(ctx, args)


@click.group(cls=Kinds, short_help="Record a known-good output as a new baseline.")
def capture() -> None:
    """Replay, and record the output as a new baseline. A GET is sent twice, and what varies is stored as a
    placeholder.

    \b
    baselinekit capture http GET http://127.0.0.1:8000/users --id users-list
    baselinekit capture curl 'https://api.example.com/users' -H 'Accept: application/json'
    baselinekit capture prompt prompts/summary.md --input article=@article.txt
    baselinekit capture skill code-review --param depth=thorough --input code_diff=@change.patch
    baselinekit capture command --id version -- mytool --version
    baselinekit capture openapi.yaml       (or a HAR file, a list of URLs, curl lines, recipes)
    baselinekit capture prompts/refactor   (the cases of a prompt folder)
    baselinekit capture FILE --help        the options for files
    """


for _kind in (capture_http, capture_curl, capture_skill, capture_prompt, capture_command, capture_files):
    capture.add_command(_kind)
