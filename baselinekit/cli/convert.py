"""`baselinekit convert`: eval files, prompt folders, snapshots and cassettes in another form."""

from baselinekit.cli.convert_options import RUBRICS, SKILL, ConvertOptions
from baselinekit.cli.converting import convert_evals, move_in
from baselinekit.cli.export import write_skill
from baselinekit.cli.options import command, refuse_without_effect
from baselinekit.errors import InvalidInput, Problem

_OF_WRITING = ("partial", "dry_run")
_OF_SKILLS = ("force",)
_OF_RUBRICS = (
    *("model", "targets", "check", "jobs", "verbose"),
    *("record_calls", "offline", "cache", "max_calls", "max_cost", "max_tokens"),
)


@command(ConvertOptions)
def convert(options: ConvertOptions) -> int:
    if options.tool is not None:
        refuse_without_effect(f"--from {options.tool}", "to", "output", *_OF_SKILLS, *_OF_RUBRICS)
        return move_in(options)
    if options.to == RUBRICS:
        refuse_without_effect(
            "a draft of rubrics", "output", "partial", "overwrite", "as_json", "base_url", *_OF_SKILLS
        )
        from baselinekit.cli.generate import draft_rubrics  # of a feature folder

        return draft_rubrics(options)
    if len(options.paths) > 1:
        message = f"one file or folder is converted at a time, and {len(options.paths)} are named"
        raise InvalidInput(Problem("BK508", message, "convert them by several commands"))
    refuse_without_effect("a conversion", "base_url", "allow_exec", *_OF_RUBRICS)
    if options.to == SKILL:
        refuse_without_effect("a skill folder", *_OF_WRITING)
        return write_skill(options)
    refuse_without_effect("eval cases", *_OF_SKILLS)
    return convert_evals(options)
