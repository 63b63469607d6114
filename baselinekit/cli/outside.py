"""What a run of evals needs besides the clients: a sandbox, the queue of items for human grading, and a file
for saved answers."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from baselinekit.commands.project import Project
from baselinekit.errors import NotRecorded
from baselinekit.evals.attempts import EvalClients, PendingWrites
from baselinekit.evals.rating import Queue
from baselinekit.files.jsontext import encode
from baselinekit.kinds.messages import row_of
from baselinekit.kinds.settings import Clients
from baselinekit.model.evals import Case
from baselinekit.model.grades import FunctionOutput
from baselinekit.model.recipes import Observation, SandboxResult
from baselinekit.sandbox.sandbox import Execute, Sandbox
from baselinekit.store.atomic import cannot_write

Save = Callable[[str], None]


def build_outside(project: Project, clients: Clients, queue: Queue, save: Save | None) -> EvalClients:
    """The sandbox, the queue and the saving of answers for a run. `save`: takes a line for each answer, or
    None if answers are not saved."""
    allowed = project.trust.allow_exec

    def in_sandbox(method: FunctionOutput, code: str, execute: Execute) -> SandboxResult:
        return Sandbox(execute, allowed).run(method, code)

    def answered(case: Case, number: int, observation: Observation) -> None:
        if save is not None:
            redactor = project.redactor.knowing(observation.output)
            save(encode(redactor.mask_value(row_of(case.id, number, observation))))

    return EvalClients(in_sandbox, queue.rated, Sandbox(clients.execute, allowed).check, answered)


def slip_recorder(queue: Queue, save: Save | None) -> Callable[[PendingWrites], None]:
    """A function that records the contents of a slip."""

    def take(slip: PendingWrites) -> None:
        for item in slip.queued:
            queue.ratings.enqueue(item)
        if save is not None:
            for line in slip.answered:
                save(line)

    return take


@contextmanager
def saved_answers(path: str | None, go_on: bool) -> Iterator[Save | None]:
    """Write each answer as a line when it arrives; without a path, save nothing."""
    if path is None:
        yield None
        return
    lock = threading.Lock()
    with ExitStack() as stack:
        try:
            mode = "a" if go_on else "w"
            file = stack.enter_context(open(path, mode, encoding="utf-8", errors="backslashreplace"))
        except OSError as error:
            raise NotRecorded(cannot_write(path, error)) from None

        def add(line: str) -> None:
            try:
                with lock:
                    file.write(f"{line}\n")
                    file.flush()
            except OSError as error:
                raise NotRecorded(cannot_write(path, error)) from None

        yield add
