"""Models that give the answers of a test and keep the questions."""

from dataclasses import dataclass, field

from baselinekit.errors import InvalidInput, Problem
from baselinekit.kinds.settings import Setting
from baselinekit.model.recipes import Answer, ModelQuestion
from baselinekit.structs import replace


@dataclass
class FakeModels:
    """Knows the models by these names; answers from the list, the last one again and again."""

    answers: list[Answer] = field(default_factory=lambda: [Answer("fine")])
    names: tuple[str, ...] = ("default", "judge")
    questions: list[ModelQuestion] = field(default_factory=list)

    def ask(self, ask: ModelQuestion) -> Answer:
        self.questions.append(ask)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def check(self, name: str) -> None:
        if name not in self.names:
            raise InvalidInput(Problem("BK601", f"no model is called {name!r}", at=("models", name)))


def answering(setting: Setting, *answers: Answer | str) -> tuple[Setting, FakeModels]:
    """The setting with models that answer so."""
    made = [Answer(answer) if isinstance(answer, str) else answer for answer in answers]
    models = FakeModels(made or [Answer("fine")])
    return replace(setting, clients=replace(setting.clients, models=models)), models
