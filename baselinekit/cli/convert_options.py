"""The options of `baselinekit convert`."""

from dataclasses import dataclass

import click

from baselinekit.cli.options import (
    ProjectOptions,
    RecordingOptions,
    argument,
    flag,
    including,
    jobs_option,
    option,
    project_options,
)
from baselinekit.moving.baselines import PYTEST, VCR
from baselinekit.moving.conversion import FORMS

SKILL, RUBRICS = "skill", "rubrics"


@dataclass(eq=False, repr=False)
class ConvertOptions:
    """Write what is in PATHS in another form: eval cases as a file of test cases (cases), a prompt folder
    (eva) or a file of AgentV (agentv); a prompt folder as a skill folder, which agents load (skill); rubrics
    for the cases of AgentV's files that have none, drafted by a model (rubrics).

    What another tool keeps is recognised by its content (a configuration of promptfoo, the evals.json of a
    skill), or named by --from. `--from pytest` runs your tests once and makes baselines of what they
    compare with snapshots of syrupy, inline-snapshot or pytest-regressions; you name the tests, so they need
    no --allow-exec. `--from vcr` makes baselines of cassettes, and runs nothing.

    \b
    baselinekit convert prompts/refactor --to cases        evals/refactor.yaml
    baselinekit convert evals/strings.yaml --to eva        prompts/strings/
    baselinekit convert promptfooconfig.yaml               evals/NAME.yaml
    baselinekit convert tests --from pytest                baselines/tests/…
    baselinekit convert refactor --to skill                skills/refactor/SKILL.md
    baselinekit convert evals/math.yaml --to rubrics

    What would be written is read again and compared with what it came from: whatever it does not say is
    listed with its line, and then nothing is written unless --partial wants it.

    \b
    Exit code: 0 it is written; 1 the prompt is not ready, or with --check cases have no rubrics;
    2 nothing was written: something does not carry over, cannot be read or is there;
    3 a case got no usable draft (the others are written).
    """

    paths: tuple[str, ...] = argument(nargs=-1, required=True, metavar="PATH…")
    to: str | None = option(
        "--to",
        type=click.Choice([*FORMS, SKILL, RUBRICS]),
        help="The form to write; the default for files of other tools is cases.",
    )
    tool: str | None = option(
        "--from",
        type=click.Choice([PYTEST, VCR]),
        help="What tests compare with snapshots (pytest: it runs them), or cassettes (vcr).",
    )
    output: str | None = option(
        "-o",
        "--output",
        metavar="PATH",
        help="Where it goes: a file, or the folder of a prompt or of skills [default: by its name].",
    )
    partial: bool = flag(help="Write what carries over, and list the rest in the file.")
    overwrite: bool = flag(help="Replace files that are there.")
    dry_run: bool = flag(help="Write nothing: print what would be written.")
    force: bool = flag(help="Of a skill: also write a prompt that is not ready.")
    model: str = option(
        "--model",
        "--target",
        metavar="NAME",
        default="judge",
        show_default=True,
        help="Of rubrics: the model that drafts, by its name in `models:` or in the targets file.",
    )
    targets: str | None = option(
        metavar="FILE", help="Of rubrics: the targets file; the default is `targets:` of the configuration."
    )
    check: bool = flag(help="Of rubrics: ask no model and write nothing; exit 1 if any case has none.")
    jobs: int = jobs_option("Of rubrics: how many at once.", 4)
    as_json: bool = flag("--json", help="Print what was written, and what is lost, as JSON.")
    verbose: bool = flag("-v", "--verbose", help="Of rubrics: every item, and which cases are skipped.")
    recording: RecordingOptions = including(RecordingOptions)
    project: ProjectOptions = project_options()
