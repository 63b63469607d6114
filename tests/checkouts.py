"""A project in a real git repository, for the tests that ask git."""

import os
import subprocess
from pathlib import Path

from baselinekit.clients.programs.git import Git
from baselinekit.clients.programs.process import Processes
from baselinekit.commands.project import Operator, Project, open_project

EXECUTE = Processes().execute
WHO = ("-c", "user.name=x", "-c", "user.email=x@example.com")


class Checkout:
    """A folder with files, which a test commits."""

    def __init__(self, folder: Path):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main")

    def git(self, *words: str) -> str:
        environ = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        done = subprocess.run(
            ["git", *WHO, *words], cwd=self.folder, env=environ, capture_output=True, text=True, check=True
        )
        return done.stdout

    def write(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def commit(self, files: dict[str, str] | None = None) -> str:
        self.write(files or {})
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "step")
        return self.git("rev-parse", "HEAD").strip()

    def asked(self, folder: str = "") -> Git:
        return Git(EXECUTE, str(self.folder / folder))

    def project(self, folder: str = "", **operator: str) -> Project:
        where = os.path.join(str(self.folder), folder)
        return open_project(Operator(cwd=os.path.normpath(where), execute=EXECUTE, **operator))  # type: ignore[arg-type]
