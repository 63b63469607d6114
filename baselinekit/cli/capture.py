"""`baselinekit capture`: its kinds, and the options that curl has."""

import json
from collections.abc import Iterator

import click

from baselinekit.cli.capturing import capture_command, capture_prompt, capture_skill
from baselinekit.cli.importing import capture_files, capture_http
from baselinekit.cli.recipes import is_curl

FILES = ""
"""The name of the command that captures what files ask for: it is typed without one."""


class Kinds(click.Group):
    """The kind may be left out: a method, a URL or a curl line is a request, any other word a file."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for name in self.commands if name != FILES]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.list_commands(ctx), "-h", "--help"):
            args = [*self._kind(args), *args]
        if args[:1] == ["http"]:
            args = ["http", *without_curl_line(args[1:], self.commands["http"])]
        return super().parse_args(ctx, args)

    def _kind(self, args: list[str]) -> list[str]:
        if is_curl(args[0].split(" ")[0]):
            return ["http", "--"]
        word = args[-1] if args[0].startswith("-") else args[0]
        return ["http"] if "://" in word or (word.isalpha() and word.isupper()) else [FILES]


def without_curl_line(args: list[str], http: click.Command) -> list[str]:
    """The arguments with our own options first, and then the whole line that begins with `curl`. Without such
    a line, `--json` followed by a JSON text is curl's option, and otherwise ours."""
    if "--" not in args or not is_curl("".join(args[args.index("--") + 1 :][:1]).split(" ")[0]):
        return list(with_json_body(args))
    from baselinekit.importers.curloptions import split_our_options
    from baselinekit.importers.shell import split_words

    place = args.index("--")
    curl, *line = args[place + 1 :]
    if " " in curl:  # the whole line as one word
        curl, *line_words = split_words(curl)
        line = [*line_words, *line]
    options = [parameter for parameter in http.params if isinstance(parameter, click.Option)]
    takes_value = {name: not parameter.is_flag for parameter in options for name in parameter.opts}
    own_words, line = split_our_options(line, takes_value)
    return [*args[:place], *own_words, "--", curl, *line]


def with_json_body(args: list[str]) -> Iterator[str]:
    for place, word in enumerate(args):
        text = word[len("--json=") :] if word.startswith("--json=") else "".join(args[place + 1 : place + 2])
        if word.startswith("--json="):
            yield f"--json-body={text}"
        else:
            yield "--json-body" if word == "--json" and is_json(text) else word


def is_json(text: str) -> bool:
    if text.startswith(("{", "[", "@")):
        return True
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


@click.group(cls=Kinds, short_help="Record a known-good output as a new baseline.")
def capture() -> None:
    """Replay, and record the output as a new baseline. A GET is sent twice, and what varies is stored as a
    placeholder.

    \b
    baselinekit capture http GET http://127.0.0.1:8000/users --id users-list
    baselinekit capture prompt prompts/summary.md --input article=@article.txt
    baselinekit capture skill code-review --param depth=thorough --input code_diff=@change.patch
    baselinekit capture command --id version -- mytool --version
    baselinekit capture openapi.yaml       (or a HAR file, a list of URLs, curl lines, recipes)
    baselinekit capture prompts/refactor   (the cases of a prompt folder)
    baselinekit capture FILE --help        the options for files
    """


for _kind in (capture_http, capture_skill, capture_prompt, capture_command, capture_files):
    capture.add_command(_kind)
