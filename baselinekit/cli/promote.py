"""`baselinekit promote`: advance a prompt by one stage if its logs permit it."""

from dataclasses import dataclass

from baselinekit.cli import options as cli, screen
from baselinekit.cli.clients import timestamps
from baselinekit.cli.entry import clock
from baselinekit.eva import logs
from baselinekit.evals.selection import resolve_path_or_prompt
from baselinekit.model.values import Json
from baselinekit.structs import asdict


@dataclass
class PromoteOptions:
    """Take a prompt from draft to tested, or from tested to ready: PROMPT is its folder, its id or an alias.

    \b
    draft to tested   3 uses that verify.sh did not find wrong
    tested to ready   10 uses that verify.sh found right, and the most recent run of all cases passed

    What is asked for can be changed in meta.yml: promotion: {min_uses: 5, require_eval: false}.

    \b
    Exit code: 0 promoted, 1 a gate is not met, 2 usage or an invalid file, or it is ready already.
    """

    prompt: str = cli.argument(metavar="PROMPT")
    force: bool = cli.flag("--force", help="Promote although gates are not met, and print those.")
    as_json: bool = cli.flag("--json", help="Print the gates as JSON.")
    project: cli.ProjectOptions = cli.project_options(cli.READING)


@cli.command(PromoteOptions)
def promote(options: PromoteOptions) -> int:
    project = cli.project_of(options.project)
    path = resolve_path_or_prompt(project, options.prompt)
    step = logs.next_step(project, logs.find_prompt(project, options.prompt, path))
    out, is_promoted = screen.Output(options.as_json), options.force or not step.unmet
    if is_promoted:
        logs.write_step(project, step, timestamps(clock())())
        screen.complain(*(f"not met: {gate}" for gate in step.unmet))
    document: dict[str, Json] = {
        "id": step.folder.id,
        "folder": step.folder.path,
        "from": step.before,
        "to": step.after,
        "promoted": is_promoted,
        "forced": options.force and bool(step.unmet),
        "gates": [asdict(gate) for gate in step.gates],
        "notes": [str(note) for note in step.notes],
    }
    out.document(document)
    out.say(*(f"warning {note}" for note in step.notes))
    if is_promoted:
        out.say(
            f"{step.folder.id} was {step.before} and is {step.after} now", f"wrote {step.folder.meta_file}"
        )
        return 0
    out.say(*(f"{'met    ' if gate.met else 'not met'}  {gate}" for gate in step.gates))
    out.say(f"{step.folder.id} stays {step.before}: {len(step.unmet)} of {len(step.gates)} gates not met")
    return 1
