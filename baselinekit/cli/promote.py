"""`baselinekit promote`: advance a prompt by one stage if its logs permit it."""

from dataclasses import dataclass

from baselinekit.cli import options as cli, screen
from baselinekit.cli.clients import timestamps
from baselinekit.cli.entry import clock
from baselinekit.eva import logs
from baselinekit.evals.selection import resolve_path_or_prompt
from baselinekit.model.values import Json
from baselinekit.structs import asdict


@dataclass(eq=False, repr=False)
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
    is_promoted = options.force or not step.unmet
    if is_promoted:
        logs.write_step(project, step, timestamps(clock())())
        for gate in step.unmet:
            screen.line(f"not met: {screen.safe_line(str(gate))}", err=True)
    if options.as_json:
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
        screen.show_document(document)
        return 0 if is_promoted else 1
    style, id = screen.style_of(), screen.safe_line(step.folder.id)
    for note in step.notes:
        screen.line(f"{style.paint('warning', 'yellow')} {screen.safe_line(str(note))}")
    if is_promoted:
        screen.line(f"{id} was {step.before} and is {style.paint(step.after, 'green')} now")
        screen.line(style.paint(f"written: {screen.safe_line(step.folder.meta_file)}", "dim"))
        return 0
    for gate in step.gates:
        word = style.paint("met    ", "green") if gate.met else style.paint("not met", "bold red")
        screen.line(f"{word}  {screen.safe_line(str(gate))}")
    unmet = f"{len(step.unmet)} of {len(step.gates)} gates not met"
    screen.line(f"{id} stays {style.paint(step.before, 'bold')}: {unmet}")
    return 1
