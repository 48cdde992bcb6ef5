"""The plan for many rollouts: costs of a unit, multiplied."""

from studies.scale.units import Costs, lines

COSTS = Costs(
    row_bytes=1_400, look=1e-6, split=36e-6, read=1e-3, decide=2e-3, score=4e-3, texts=20, tokens=500, encode=1e-4
)


def test_costs_of_rows_pools_and_tokens_are_each_multiplied_by_their_number() -> None:
    told = {line.split(" | ")[0].strip("| "): line for line in lines(COSTS, 8_000_000)}
    assert "1.4 kB a rollout | 11 GB" in told["rows as JSON"]
    assert "36 µs a row | 0.1 core-hours" in told["gather: split"]
    assert "2.00 ms a pool | 0.6 core-hours, 1 minutes on 64 cores" in told["the same, and decide"]
    assert "10,000 tokens a second | 13.9 core-hours, 13 minutes on 64 cores" in told["embed"]
    assert "1.5 kB a text | 31 GB" in told["vectors, if kept"]
