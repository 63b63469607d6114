"""`baselinekit serve`: the page of this machine, until Ctrl-C."""

import ipaddress
import json
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import click

from baselinekit.cli import options as cli, screen
from baselinekit.cli.clients import asking
from baselinekit.cli.entry import clock
from baselinekit.cli.grade import name_of_rater
from baselinekit.commands.refresh import RefreshScope
from baselinekit.commands.selection import Selection
from baselinekit.model.values import Json
from baselinekit.values.texts import count_noun
from baselinekit.web.limits import IDLE_MINUTES

_PORT = 8710
"""One that stays: a browser keeps drafts by the address of the page."""


@dataclass
class ServeOptions:
    """Open a page on this machine, for people without a terminal: review the changes that failing compares
    found, rate the outputs that wait for a person, and read runs.

    RESULTS are result files of a CI job: its changes are reviewed instead of those found here, and its run
    can be read. Each rater has a link of their own, and sees only the ratings.

    \b
    baselinekit serve                              everything of this project
    baselinekit serve results.json                 what a CI job found
    baselinekit serve --rater ada --rater ben      two people rate the same outputs
    baselinekit serve --host 10.0.0.5 --cert c.pem --key k.pem --rater ada

    \b
    Exit code: 0 ended, 2 usage or an invalid file.
    """

    results: tuple[str, ...] = cli.argument(nargs=-1, metavar="[RESULTS]...", type=click.Path())
    selection: cli.SelectionOptions = cli.including(cli.SelectionOptions)
    raters: tuple[str, ...] = cli.several("--rater", "NAME", help="Print a link for this rater, too.")
    overlap: int | None = cli.count("N", needs="raters", help="Give each output to N of the raters.")
    rater: str | None = cli.option(
        "--as", "NAME", help="Who you are [default: BASELINEKIT_RATER, else login]."
    )
    port: int = cli.option(
        "N",
        type=click.IntRange(0, 65535),
        default=_PORT,
        show_default=True,
        help="The port; 0: any free one.",
    )
    host: str = cli.option(
        "ADDRESS", default="127.0.0.1", show_default=True, help="Answer other machines; needs a certificate."
    )
    certificate: str | None = cli.option("--cert", "FILE", needs="key", help="The certificate, as PEM.")
    key: str | None = cli.option("FILE", needs="certificate", help="Its key.")
    idle: int = cli.option(
        "MINUTES",
        type=click.IntRange(0),
        default=IDLE_MINUTES,
        show_default=True,
        help="End after so long without a request; 0: never.",
    )
    as_json: bool = cli.flag("--json", help="Print the links as JSON.")
    project: cli.ProjectOptions = cli.project_options(cli.READING)


@cli.command(ServeOptions)
def serve(options: ServeOptions) -> int:
    try:
        from baselinekit.web import server
    except ImportError as error:
        raise cli.misuse(
            f"the page needs the package {error.name}", "pip install 'baselinekit[web]'"
        ) from None
    from baselinekit.web.table import Desks, table_of

    certificate = check_address(options)
    what = "what compare -o results.json or run -o results.json wrote"
    results = tuple((name, cli.read_text("RESULTS", name, what)) for name in options.results)
    project = cli.project_of(options.project)
    people = [server.Person(name_of_rater(options.rater), is_operator=True)]
    people += [server.Person(name_of_rater(name)) for name in options.raters]
    links, listening = server.Links(people), server.listen(options.host, options.port)
    origins = origins_of(options.host, listening.getsockname()[1], certificate is not None)
    scope = RefreshScope(
        selection=options.selection.selection or Selection(), all_failed=True, results=results
    )
    with listening, asking(project) as context:
        names = [person.name for person in people]
        desks = Desks(project, scope, context, clock(), names, options.overlap)
        site = server.Site(links, origins, table_of(desks), project.redactor.mask_said)
        desks.runs.check()
        announce = partial(tell, options, links.addresses(origins[0]), desks.counts())
        with suppress(KeyboardInterrupt):
            server.serve(site, listening, certificate, options.idle, announce)
    screen.say("ended", err=options.as_json)
    return 0


def check_address(options: ServeOptions) -> tuple[str, str] | None:
    """The certificate and its key. Other machines are answered only with one: a link has a token in it."""
    certificate = (options.certificate, options.key) if options.certificate and options.key else None
    is_loopback = options.host == "localhost"
    with suppress(ValueError):
        address = ipaddress.ip_address(options.host)
        is_loopback = is_loopback or address.is_loopback
        if address.is_unspecified:
            hint = "name the address of this machine that they open, as in --host 10.0.0.5"
            raise cli.misuse(f"a link to --host {options.host} leads nowhere", hint)
    if not is_loopback and certificate is None:
        message = f"--host {options.host} answers other machines, and they would read along"
        raise cli.misuse(message, "add --cert FILE --key FILE, or leave --host out")
    for name in certificate or ():
        cli.read_text("--cert", name, "a file in the form PEM")
    return certificate


def origins_of(host: str, port: int, is_secure: bool) -> list[str]:
    """The addresses under which a browser may know the page, the one of the links first."""
    scheme, usual = ("https", 443) if is_secure else ("http", 80)
    names = [f"[{host}]" if ":" in host else host]
    names += ["localhost"] if host == "127.0.0.1" else []
    return [f"{scheme}://{name}" + ("" if port == usual else f":{port}") for name in names]


def tell(options: ServeOptions, links: list[tuple[Json, str]], counts: dict[str, int]) -> None:
    (_, own), *others = links
    if options.as_json:
        raters = [{"name": person.name, "url": url} for person, url in others]
        document = {"url": own, "raters": raters, "counts": counts}
        screen.show_unmasked(f"{json.dumps(document, indent=2)}\n")
    else:
        style = screen.style_of()
        screen.show_unmasked(f"{style.paint(own, 'bold')}\n")
        changes, items = count_noun(counts["review"], "change"), count_noun(counts["rate"], "output")
        screen.line(f"  {changes} to review, {items} to rate, {count_noun(counts['runs'], 'run')} to read")
        for person, url in others:
            screen.show_unmasked(f"  {screen.safe_line(person.name)}: {url}\n")
        screen.line("answers until Ctrl-C" + ("" if options.certificate else ", on this machine only"))
