"""Long runs are read whole."""

import pytest

from eqty_lineage.deepagents.reading.run import read
from support.synthetic import synthetic


@pytest.mark.parametrize("steps", [1, 2, 200, 1_000])
def test_every_step_of_a_long_run_is_there(steps: int) -> None:
    run = read(synthetic(steps))
    told = [step for step in run.steps if step.kind in {"turn", "tool"}]
    assert len(told) == steps
    assert [step.number for step in run.steps] == list(range(1, len(run.steps) + 1))
