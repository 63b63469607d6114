"""The group of commands, and the boundary where errors become messages and exit codes.

A command is imported only when it is called: `--help` and `--version` load nothing heavier than click."""

import io
import os
import signal
import sys
from collections.abc import Sequence

import click

from baselinekit import __version__
from baselinekit.cli import entry, screen
from baselinekit.cli.entry import Now, Sleep
from baselinekit.cli.options import InOrder, project_parameters
from baselinekit.errors import BaselinekitError, find_interrupt, suggest

COMMANDS = {
    "init": ("init.init", "Set up a project: write a configuration to fill in."),
    "demo": ("demo.demo", "See it work in a minute, without network access."),
    "capture": ("capture.capture", "Record a known-good output as a new baseline."),
    "compare": ("compare.compare", "Replay baselines and report what differs."),
    "refresh": ("refresh.refresh", "Accept the new output of a failing compare."),
    "review": ("refresh.review", "Accept or reject changes one at a time."),
    "run": ("run.run", "Run eval cases: grade the answers, and compute metrics."),
    "grade": ("grade.grade", "Rate outputs that wait for human grading."),
    "gate": ("run.gate", "Decide whether a run is good enough to go on."),
    "calibrate": ("doctor.calibrate", "Measure how well judges agree with people."),
    "promote": ("promote.promote", "Take a prompt from draft to tested to ready."),
    "serve": ("serve.serve", "Review, rate and read runs in a browser."),
    "report": ("report.report", "Show earlier runs, combine shards, or set two runs side by side."),
    "doctor": ("doctor.doctor", "Check every file and rule without replaying anything."),
    "explain": ("explain.explain", "Say what an error code means, or how a baseline is compared."),
    "convert": ("convert.convert", "Write evals, skills, snapshots and cassettes in another form."),
    "schema": ("explain.schema", "Print the JSON Schema of the files, for editors."),
}
"""Each command: where it is, and one line about it. It is imported when it is needed."""

_SIGPIPE = 141


class Commands(InOrder, click.Group):
    """Knows the name and summary of every command, and imports only the one that is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            if not (name.startswith("-") or ctx.resilient_parsing):
                near = suggest(name, COMMANDS)
                ctx.fail(f"there is no command {name!r}" + (f": {near}" if near else ""))
            return None
        path, summary = COMMANDS[name]
        command: click.Command = entry.import_named(path)
        command.short_help = summary
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, message="baselinekit %(version)s")
def cli(**project_options: object) -> None:
    """Regression tests for HTTP APIs, programs and LLM prompts: record an answer, replay it, and see exactly
    what changed.

    \b
    baselinekit demo                              see it work in a minute
    baselinekit capture http GET URL --id users   record what it answers now
    baselinekit compare                           check that it still does
    """


cli.params += project_parameters()


def main(args: Sequence[str] | None = None, now: Now | None = None, sleep: Sleep | None = None) -> None:
    """The console script. `now`: a clock other than the machine's; `sleep`: lets its time pass."""
    try:
        code = run(args, now, sleep)
        # everything is saved: a late signal may end the process silently; after an interrupt, ignore more
        # signals
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, signal.SIG_IGN if code == entry.INTERRUPTED else signal.SIG_DFL)
    except KeyboardInterrupt:  # everything is done and reported; the exit code tells the shell
        code = entry.INTERRUPTED
    sys.exit(code)


def run(args: Sequence[str] | None = None, now: Now | None = None, sleep: Sleep | None = None) -> int:
    """Run one command line. Whatever happens, the user sees a message and not a traceback."""
    try:
        handed_clock = None if now is None else entry.HandedClock(now, sleep)
        outcome = cli.main(args=args, prog_name="baselinekit", standalone_mode=False, obj=handed_clock)
        if sys.stdout is not None:
            sys.stdout.flush()
        code = outcome if isinstance(outcome, int) else 0
        failure = entry.take_write_error()
        if failure is None:
            return code
        complain_of_system("standard output", failure)
        return 3 if code in (0, 5) else code  # a verdict that could not be read is not a pass
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as usage_error:
        with io.StringIO() as message:
            usage_error.show(message)
            click.echo(screen.redact(message.getvalue()), nl=False, err=True)
        return usage_error.exit_code
    except BaselinekitError as error:
        complain(str(error))
        if os.environ.get("GITHUB_ACTIONS"):
            from baselinekit.cli import delivery

            delivery.annotate_problems(error.problems)
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second one would cut this short
        complain("interrupted")
        return entry.INTERRUPTED
    except (entry.ReaderLeft, BrokenPipeError):
        entry.discard(sys.stdout)
        return _SIGPIPE
    except OSError as error:
        complain_of_system(error.filename or "the system", error)
        entry.discard(sys.stdout)
        return 3
    except Exception as unexpected:
        if find_interrupt(unexpected):
            complain("interrupted")
            return entry.INTERRUPTED
        if os.environ.get("BASELINEKIT_TRACEBACK"):
            import traceback

            complain(traceback.format_exc())
            return 3
        hint = "set BASELINEKIT_TRACEBACK=1 to see where, and please report it"
        complain(f"BK399 internal error: {type(unexpected).__name__}: {unexpected}: {hint}")
        return 3


def complain_of_system(what: str, error: OSError) -> None:
    complain(f"BK120 {what}: {(error.strerror or str(error)).lower()}: fix that and run again")


def complain(text: str) -> None:
    """Print the error that ends the command on standard error. If that fails, the exit code still shows
    it."""
    try:
        click.echo(screen.safe(screen.redact(text)), err=True)
    except OSError:
        entry.discard(sys.stderr)
