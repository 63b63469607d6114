"""Files of git repositories as a command reads them, before a run has built its clients.

The modules for it are loaded with the first such file: most commands read none."""

import os
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from baselinekit.commands.project import Project

if TYPE_CHECKING:
    from baselinekit.clients.programs.gitfiles import FetchedFile, GitFiles, HostForm


class RemoteFiles:
    """The files of git repositories that a project's files name. `offline`: use only what was fetched
    before."""

    def __init__(self, project: Project, offline: bool = False, environ: Mapping[str, str] = os.environ):
        self.project, self._environ = project, environ
        self.offline = offline or project.config.git.offline

    def fetch_file(self, url: str) -> "FetchedFile":
        """The file that an address names, or InvalidInput, CannotReplay, Refused."""
        return self.files.fetch_file(url)

    @cached_property
    def files(self) -> "GitFiles":
        from baselinekit.clients.programs.gitfiles import GitFiles, cache_folder
        from baselinekit.clients.programs.process import Processes

        return GitFiles(
            Processes().execute,
            cache_folder(self._environ),
            self.hosts,
            self.check,
            self.offline,
            mask=self.project.redactor.mask_said,
        )

    @property
    def hosts(self) -> "dict[str, HostForm]":
        """The built-in hosts and those of the configuration."""
        from baselinekit.clients.programs.gitfiles import HOSTS

        return {**HOSTS, **self.project.config.git.hosts}

    def check(self, url: str) -> None:
        """Raise Refused if this repository may not be asked. Hosts that the configuration names for git may
        be."""
        trust = self.project.trust
        scheme, _, remainder = url.partition("://")
        host = remainder.partition("/")[0]
        if {host, f"{scheme}://{host}"} & self.project.config.git.hosts.keys():
            trust = trust.allowing(url)
        trust.check_request(url)
