"""The group of commands, and the one boundary where an error becomes a message and an exit code.

A command is imported when it is called: `--help` and `--version` load click and nothing heavier."""

import io
import os
import signal
import sys
from collections.abc import Sequence

import click

from baselinekit import __version__
from baselinekit.cli import redaction, signals
from baselinekit.cli.clock import Now, carrying
from baselinekit.cli.signals import ReaderLeft
from baselinekit.errors import BaselinekitError

_COMMANDS = {
    "compare": "Replay baselines and report what differs.",
    "capture": "Record a known-good output as a new baseline.",
    "run": "Run eval cases: grade the answers, and compute metrics.",
    "grade": "Rate outputs that wait for human grading.",
    "gate": "Decide whether a run is good enough to go on.",
    "calibrate": "Measure how well judges agree with people.",
    "refresh": "Accept the new output of a failing compare.",
    "review": "Accept or reject changes one at a time.",
    "history": "Show how the baselines did in earlier runs.",
    "orphans": "Find files that nothing needs any more.",
    "merge": "Combine the result files of several shards into one report.",
    "doctor": "Check every file and rule without replaying anything.",
    "explain": "Say what an error code means, or how a baseline is compared.",
    "demo": "See it work in a minute, without network access.",
    "init": "Set up a project: write a configuration to fill in.",
    "schema": "Print the JSON Schema of the files, for editors.",
}
_CALLED_BY_GIT = {"git-merge": "git_merge", "git-textconv": "git_textconv"}
_SIGPIPE = 141


class Commands(click.Group):
    """Knows every command's name and one line about it; imports the one that is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS and name not in _CALLED_BY_GIT:
            return None
        called = _CALLED_BY_GIT.get(name, name)
        module = signals.import_module(name if called == name else "gitdriver")
        command: click.Command = getattr(module, called)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else ""
        if name and not name.startswith("-") and not {name} & {*_COMMANDS, *_CALLED_BY_GIT}:
            from baselinekit.errors import nearest

            near = nearest(name, list(_COMMANDS))
            ctx.fail(f"there is no command {name!r}" + (f": {near}" if near else ""))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, message="baselinekit %(version)s")
def cli() -> None:
    """Regression tests for HTTP APIs, programs and LLM prompts: record an answer, replay it, and see exactly
    what changed.

    \b
    baselinekit demo                              see it work in a minute
    baselinekit capture http GET URL --id users   record what it answers now
    baselinekit compare                           check that it still does
    """


def main(args: Sequence[str] | None = None, now: Now | None = None) -> None:
    """The console script. `now`: another clock than the machine's."""
    try:
        code = run(args, now)
        _hear_no_more(signal.SIG_IGN if code == signals.INTERRUPTED else signal.SIG_DFL)
    except KeyboardInterrupt:  # all is said and done, but the shell is to know
        code = signals.INTERRUPTED
    sys.exit(code)


def _hear_no_more(how: signal.Handlers) -> None:
    """Nothing is left to be kept: a late signal ends it without a word, and a second one changes nothing."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, how)


def run(args: Sequence[str] | None = None, now: Now | None = None) -> int:
    """Run one command line. Whatever happens, the user sees a message and not a traceback."""
    try:
        outcome = cli.main(args=args, prog_name="baselinekit", standalone_mode=False, obj=carrying(now))
        if sys.stdout is not None:
            sys.stdout.flush()
        return _heard(outcome if isinstance(outcome, int) else 0)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as wrong:
        with io.StringIO() as said:
            wrong.show(said)
            click.echo(redaction.redact(said.getvalue()), nl=False, err=True)
        return wrong.exit_code
    except BaselinekitError as error:
        _say(str(error))
        if os.environ.get("GITHUB_ACTIONS"):
            from baselinekit.cli import delivery

            delivery.annotate_problems(error.problems)
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second one would cut this short
        _say("interrupted")
        return signals.INTERRUPTED
    except (ReaderLeft, BrokenPipeError):
        signals.let_go(sys.stdout)
        return _SIGPIPE
    except OSError as error:
        shown = f" {error.filename}" if error.filename else ""
        _say(f"BK120{shown}: {(error.strerror or str(error)).lower()}: fix that and run again")
        signals.let_go(sys.stdout)
        return 3
    except Exception as fault:
        if os.environ.get("BASELINEKIT_TRACEBACK"):
            import traceback

            _say(traceback.format_exc())
            return 3
        where = "set BASELINEKIT_TRACEBACK=1 to see where, and please report it"
        _say(f"BK399 internal error: {type(fault).__name__}: {fault}: {where}")
        return 3


def _heard(code: int) -> int:
    """The exit code, where nobody could read what was printed: a verdict that was lost is no pass."""
    error = signals.lost()
    if error is None:
        return code
    _say(f"BK120 standard output: {(error.strerror or str(error)).lower()}: fix that and run again")
    return 3 if code in (0, 5) else code


def _say(text: str) -> None:
    from baselinekit.escape import log, visible

    try:
        click.echo(log(visible(redaction.redact(text))), err=True)
    except OSError:  # nobody can be told; the exit code still says it
        signals.let_go(sys.stderr)


if __name__ == "__main__":
    main()
