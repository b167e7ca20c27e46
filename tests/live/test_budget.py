"""A probe that takes more than its budget is held back, and that is told."""

from __future__ import annotations

from tests.live.scripts import counted
from tests.tracer import tracing

CALLS = 200_003
STINGY = ("--hits", "0", "--budget", "0.01%")


def test_a_probe_over_its_budget_is_held_back() -> None:
    script = "Counted::step { @n[arg1 & 7] = count(); }"
    with counted(17) as target, tracing(target.pid, "-e", script, *STINGY) as tracer:
        target.send(f"call {CALLS}")
        target.wait_for("called")
        first = tracer.wait_for("budget")
        assert first["probe"] == "step"
        assert first["step"] in ("sampled", "disabled")
        assert first["taken"] > first["allowed"] == 0.0001
        assert tracer.stop() in (0, 6)
        (end,) = tracer.of("end")
        assert end["probes"][0]["restraints"] >= 1
        assert any(line.startswith("budget: probes took") for line in tracer.stderr)


def test_a_probe_whose_methods_would_measure_on_is_taken_out() -> None:
    """And the status says that nothing was left."""
    script = "Counted::step @return { @n = hist(duration); }"
    with counted(17) as target, tracing(target.pid, "-e", script, *STINGY) as tracer:
        target.send(f"call {CALLS}")
        target.wait_for("called")
        assert tracer.wait_for("budget")["step"] == "taken-out"
        assert tracer.stop() == 6
        (end,) = tracer.of("end")
        assert (end["restored"], end["woven"]) == (0, 0), "its classes had their bytes back before"
