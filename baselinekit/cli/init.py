"""`baselinekit init`: write a configuration, and set up git and evals."""

import os
import shutil
import sys
from dataclasses import dataclass

from baselinekit.cli import options as cli, screen
from baselinekit.clients.programs.git import Git
from baselinekit.clients.programs.process import Processes
from baselinekit.commands import gitsetup
from baselinekit.model.recipes import Config
from baselinekit.store.project import CONFIG_NAME, load_config, nearest_config
from baselinekit.store.reading import discover_files
from baselinekit.store.results import write_text
from baselinekit.suites.authoring import SKILL, SKILLS, scaffold

# `baselinekit init`.


_CONFIG = """\
# baselinekit.yaml: the nearest one, in your folder or above, is used; its folder is the project.
version: 1

# Where requests go; a baseline names only the endpoint. --base-url and BASELINEKIT_BASE_URL take precedence.
{base_url}

# Values for {{{{name}}}} in recipes. A secret is sent and never stored or shown.
# variables:
#   user: ada
#   token: {{from_env: API_TOKEN, secret: true}}

# The same baselines in other environments: baselinekit compare --environment staging
# environments:
#   staging:
#     base_url: https://staging.example.com

# Your own placeholders: <<order_no>> in a stored output
# placeholders:
#   order_no: 'ORD-\\d{{8}}'

# Programs and skills that baselines may run, by name
# commands:
#   mytool: [python, -P, -m, mytool]
# skills:
#   code-review: {{command: [python, skills/review.py]}}

# Models for prompts, skills with a SKILL.md, and judges; prices in dollars per million tokens
# models:
#   default: {{openai: gpt-4.1-mini, key: openai_key, prices: {{input: 0.4, output: 1.6}}}}
#   judge: {{openai: gpt-4.1, key: openai_key}}   # for `method: judge`: are the facts kept?
# limits: {{calls: 500, usd: 2.5}}

# What to record about the environment at each capture
# environment:
#   node: {{command: [node, --version]}}
"""


@dataclass
class InitOptions:
    """Write a baselinekit.yaml with every setting explained, and make the folder baselines/.

    With --eval also the folder evals/, with a small suite, graders and thresholds to start from. Existing
    files are not changed. --git sets up git for baselines, and has to be run once in every clone.
    """

    with_evals: bool = cli.flag("--eval", help="Also make evals/ with a suite that runs.")
    with_git: bool = cli.flag("--git", help="Let git merge the pass record of baselines by itself.")
    undo_git: bool = cli.flag(
        excludes=("with_git", "with_evals", "base_url"), help="Remove what --git has written."
    )
    dry_run: bool = cli.flag(help="With --git or --undo-git: only show what would change.")
    project: cli.ProjectOptions = cli.project_options(("base_url",))


@cli.command(InitOptions)
def init(options: InitOptions) -> None:
    base_url, with_git, dry_run = options.project.base_url, options.with_git, options.dry_run
    if dry_run and not (with_git or options.undo_git):
        raise cli.misuse("--dry-run needs --git or --undo-git", "add one of them")
    is_known = with_git or options.undo_git or options.with_evals
    file = nearest_config(os.getcwd()) if is_known else None
    root = os.path.dirname(file) if file else os.getcwd()
    git, program = Git(Processes().execute, root), find_program()
    if options.undo_git:
        undo_git_setup(git, dry_run)
        return
    if file is None and not dry_run:
        if base_url:
            cli.check_base_url(base_url)
        if with_git:
            gitsetup.plan_setup(git, ["baselines"], program)  # fails before anything is written
        write_config(base_url, SKILLS if options.with_evals else "")
    config = load_config(file) if file else Config()
    # the folders whose files get a record of runs: those of baselines, and of evals if there are any
    settings = (config.baselines, config.evals)
    baselines, evals = ([one] if isinstance(one, str) else list(one) for one in settings)
    evals = [folder for folder in evals if options.with_evals or os.path.isdir(os.path.join(root, folder))]
    folders = list(dict.fromkeys([*baselines, *evals]))
    if with_git:
        set_up_git(git, folders, program, dry_run)
    if dry_run:
        return
    if options.with_evals:
        make_evals(root)
    elif file is None and discover_files([one for one in baselines if os.path.isdir(one)], root).files:
        screen.next_commands([] if with_git else ["baselinekit compare"])
    elif file is None:
        url = "/users" if base_url else "http://127.0.0.1:8000/users"
        screen.next_commands([f"baselinekit capture http GET {url} --id users"])


def write_config(base_url: str | None, sections: str) -> None:
    if os.path.exists("baselinekit.yaml"):
        raise cli.misuse("baselinekit.yaml already exists", "edit it, or remove it and run init again")
    base_url_line = f"base_url: {base_url}" if base_url else "# base_url: http://127.0.0.1:8000"
    text = _CONFIG.format(base_url=base_url_line)
    write_text("baselinekit.yaml", f"{text}\n{sections}" if sections else text)
    is_there = os.path.isdir("baselines")
    os.makedirs("baselines", exist_ok=True)
    screen.line(f"wrote baselinekit.yaml{'' if is_there else ' and baselines/'}")


def make_evals(root: str) -> None:
    """Write the example suite. An existing configuration is not changed: what the example needs in it is
    printed."""
    config = load_config(os.path.join(root, CONFIG_NAME))
    folder = config.evals if isinstance(config.evals, str) else config.evals[0]
    shown_folder = os.path.relpath(os.path.join(root, folder))
    written, unchanged = scaffold(folder, root)
    for name in written:
        screen.line(f"wrote {os.path.join(shown_folder, os.path.relpath(name, folder))}")
    if unchanged:
        screen.line(f"left unchanged: {', '.join(unchanged)}")
    if SKILL not in config.skills and written:
        screen.line("the example uses a skill that does not exist yet; add to baselinekit.yaml:")
        for line in SKILLS.splitlines():
            screen.line(f"    {line}")
    screen.next_commands(["baselinekit run"])


def set_up_git(git: Git, folders: list[str], program: list[str], dry_run: bool) -> None:
    plan = gitsetup.plan_setup(git, folders, program)
    if not plan:
        screen.line("git is already set up: nothing to change")
        return
    _show(plan, dry_run)
    if dry_run:
        return
    gitsetup.carry_out(plan, git)
    does = "git merges the record and the provenance of baselines by itself, and diffs leave them out"
    screen.line(f"done: {does}")
    commit = "commit .gitattributes and .gitignore, and run baselinekit init --git in every other clone"
    screen.next_commands([commit])


def undo_git_setup(git: Git, dry_run: bool) -> None:
    plan = gitsetup.plan_removal(git)
    if not plan:
        screen.line("neither git's files nor this clone's settings contain anything of baselinekit")
        return
    _show(plan, dry_run)
    if not dry_run:
        gitsetup.carry_out(plan, git)
        screen.line("removed: git treats baselines like any other text again")


def _show(plan: gitsetup.GitSetupPlan, dry_run: bool = False) -> None:
    screen.say(*plan.lines())
    if dry_run:
        screen.line("nothing was written (--dry-run)")


def find_program() -> list[str]:
    """The command with which git calls us, even if our virtual environment is not activated."""
    started = sys.argv[0]
    if os.path.basename(started) != "baselinekit":
        started = "baselinekit"
    path = shutil.which(started)
    return [os.path.abspath(path)] if path else [sys.executable, "-P", "-m", "baselinekit"]
