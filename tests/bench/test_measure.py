"""How the benchmarks measure."""

from collections.abc import Callable

from bench.measure import Options, in_turns, percentile


def test_subjects_take_turns_and_share_going_first() -> None:
    order: list[str] = []

    def subject(name: str) -> Callable[[], float]:
        def measure() -> float:
            order.append(name)
            return float(len(order))

        return measure

    results = in_turns(3, {"a": subject("a"), "b": subject("b")}, warm_up=1)

    assert "".join(order) == "ab" + "ab" + "ba" + "ab"
    # What warms up is not counted.
    assert results == {"a": [3.0, 6.0, 7.0], "b": [4.0, 5.0, 8.0]}


def test_a_percentile_is_a_value_that_was_measured() -> None:
    values = [float(number) for number in range(100, 0, -1)]
    assert percentile(values, 0.95) == 95.0
    assert percentile(values, 0.5) == 50.0
    assert percentile([7.0], 0.95) == 7.0


def test_rounds_asked_for_win_over_quick_and_usual() -> None:
    assert Options().times(usual=60, quick=10) == 60
    assert Options(quick=True).times(usual=60, quick=10) == 10
    assert Options(rounds=3, quick=True).times(usual=60, quick=10) == 3
