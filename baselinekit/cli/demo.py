"""`baselinekit demo`: capture and compare against a small service on this machine, with nothing to set up."""

import os
import shlex
import shutil
from contextlib import chdir, suppress
from dataclasses import dataclass
from pathlib import Path

import click

from baselinekit.cli import screen
from baselinekit.cli.entry import clock
from baselinekit.cli.options import command, flag, misuse, option
from baselinekit.demo.service import Service
from baselinekit.report.wording import Style

_ENDPOINTS = "/health", "/api/v1/users", "/api/v1/orders", "/api/v1/report.txt"
_EXCERPT = 24
_MARKER = ".made-by-baselinekit-demo"
_USERS = [
    *("--placeholder", "users.*.id=<<any_uuid>>"),
    *("--placeholder", "users.*.created_at=<<any_iso_datetime>>"),
]
_ORDERS = ["--tolerance", "**.price=0.05", "--tolerance", "**.total=0.1", "--ignore", "pagination"]
_CAPTURES: tuple[tuple[str, str, list[str]], ...] = (
    ("users", "/api/v1/users?per_page=3", _USERS),
    ("orders", "/api/v1/orders?per_page=2", _ORDERS),
    ("report", "/api/v1/report.txt", []),
)
_PROMPT = """\
Extract the e-mail address and the order number from the message. Answer in JSON: {email, order, kind}.

{{message}}
"""
_SKILL = """\
---
name: release-note
description: Turns a change into one sentence
---
Summarise the change in one sentence.
"""
_NOTE = """\
id: release-note
current:
  input: Prompts are compared by what they say. It took a while.
  execution: {type: skill, skill_name: release-note}
comparison: {type: semantic, method: words}
"""
_CONFIG = """\
version: 1
models:
  default: {openai: demo, base_url: "%s"}
"""
_MODEL_CAPTURES: tuple[list[str], ...] = (
    [
        *("capture", "prompt", "prompts/extract.md", "--parse", "json"),
        *("--input", "message=My order 4711 never arrived, says ada@example.org"),
    ],
    ["capture", "baselines/release-note.yaml"],
)


@dataclass
class DemoOptions:
    """Start a small API and a small model on a free port of this machine, record what they answer, upgrade
    them, and see what changed. Needs no network, no key and no configuration. The files are kept, so that
    you can look at them.

    \b
    baselinekit demo                     the whole demo
    baselinekit demo --serve             only the API and the model, at 127.0.0.1:8080, until Ctrl-C
    baselinekit demo --serve --upgrade   the same, upgraded
    """

    folder: str = option(
        "--dir", "NAME", default="baselines-demo", show_default=True, help="Where its files go."
    )
    serve: bool = flag(
        excludes=("folder",), help="Only start the API and the model, until Ctrl-C, for your own commands."
    )
    port: int = option(
        "N",
        type=click.IntRange(0, 65535),
        default=8080,
        needs="serve",
        show_default=True,
        help="With --serve: the port; 0: any free one.",
    )
    upgrade: bool = flag(needs="serve", help="With --serve: start the upgraded versions.")


@command(DemoOptions)
def demo(options: DemoOptions) -> None:
    style = screen.style_of()
    if options.serve:
        serve(style, options.port, options.upgrade)
        return
    with Service(now=clock()) as service:
        make_folder(options.folder, service.url)
        run_demo(style, service, options.folder)


def serve(style: Style, port: int, upgrade: bool) -> None:
    """Serve the API and the model until interrupted."""
    try:
        service = Service(port, 2 if upgrade else 1, now=clock())
    except OSError as error:
        message = f"port {port} cannot be used: {(error.strerror or str(error)).lower()}"
        raise misuse(message, "choose another, or 0 for a free one: --port 0") from None
    with service:
        screen.line(f"{style.paint(service.url, 'bold')} answers until Ctrl-C, on this machine only")
        screen.line(f"  an API    version {service.version}: {'  '.join(_ENDPOINTS)}")
        screen.line(f"  a model   demo-{service.version}.0, as openai or anthropic; no key needed")
        command = f"baselinekit capture http GET {service.url}/health --id health"
        screen.line(f"next, in another terminal: {command}")
        with suppress(KeyboardInterrupt):
            service.wait()


def run_demo(style: Style, service: Service, folder: str) -> None:
    def step(text: str, *further: str) -> None:
        screen.line()
        screen.line(style.paint(text, "bold"))
        for line in further:
            screen.line(line)

    def show(words: list[str], *hidden: str) -> None:
        """Print a command and run exactly that command. `hidden`: options that are not shown."""
        from baselinekit.cli.main import run

        screen.line(style.paint(f"    $ {shlex.join(['baselinekit', *words])}", "cyan"))
        if words == ["compare"]:
            screen.line()
        run([*words, *hidden], clock())

    with chdir(folder):
        step(f"1. A small API answers at {service.url}. Record what it answers now:")
        for name, endpoint, options in _CAPTURES:
            show(["capture", "http", "GET", service.url + endpoint, "--id", name, *options], "--quiet")
        varying = "Ids and times are new at every start, so they get placeholders."
        screen.line()
        screen.line(f"    {varying} Prices may change a little.")
        step("2. A model answers there as well. Record a prompt, and what a file asks of a SKILL.md:")
        for words in _MODEL_CAPTURES:
            show(words, "--quiet")
        step("3. Are the answers still the same?")
        show(["compare"], "--color", screen.chosen_color())
        step(
            "4. Both are upgraded: a field is renamed, a number becomes a string, prices change a little,",
            "   and the newer model writes more. Its note is worded differently, which is allowed.",
        )
        service.upgrade()
        show(["compare"], "--color", screen.chosen_color())
    step("5. The baselines are files that you can read, edit and commit:")
    path = os.path.join(folder, "baselines", "127.0.0.1", "users.yaml")
    lines = Path(path).read_text("utf-8").splitlines()
    screen.line(style.paint(f"    {path}", "cyan"))
    for line in lines[:_EXCERPT]:
        screen.line(f"    {line}")
    screen.line(style.paint("    …", "dim"))
    step(
        "6. The demo's API has stopped. With an API of your own:",
        "    baselinekit capture http GET http://127.0.0.1:8000/users --id users",
        "    baselinekit compare",
    )


def make_folder(folder: str, url: str) -> None:
    """Create a fresh folder. The folder of an earlier demo is replaced, any other is refused."""
    if os.path.exists(folder):
        if not os.path.exists(os.path.join(folder, _MARKER)):
            message = f"{folder} already exists, and was not made by the demo"
            raise misuse(message, "choose another: --dir NAME")
        shutil.rmtree(folder)
    texts = {
        _MARKER: "The next demo may remove this folder.\n",
        "baselinekit.yaml": _CONFIG % url,
        "prompts/extract.md": _PROMPT,
        "skills/release-note/SKILL.md": _SKILL,
        "baselines/release-note.yaml": _NOTE,
    }
    for name, content in texts.items():
        file = Path(folder, name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, "utf-8")
