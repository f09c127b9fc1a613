"""The one phase of a landscape: trainings and points, each as soon as what it needs is there."""

from seedwise.search.decide.baselines import Baselines
from seedwise.search.decide.next_run import Decider
from seedwise.search.execution.phases import Phases
from seedwise.search.execution.products import Products
from seedwise.search.ledger.state import PLANNED

FOLDER = "models"  # the folder of trained models in that of the search


class LandscapePhases(Phases):
    """As the phases of a search, with a plan in the place of a policy."""

    def __post_init__(self) -> None:
        self.plan = self.specification.parts.plan
        self.products = Products(self.folder / FOLDER)
        super().__post_init__()

    def run_all(self) -> None:
        if not self.ledger.state.stopped:
            because = self.run(PLANNED)
            self.ledger.append({"event": "freeze", "because": because, "configs": []})

    def decider(self, phase: str) -> tuple[Decider, Baselines | None]:
        return self.plan, None

    def total(self) -> int:
        return len(self.plan.runs)
