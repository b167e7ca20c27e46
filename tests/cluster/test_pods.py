"""``btpy --pods`` and ``kubectl btpy`` in a real cluster, by the real kubectl."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack

import pytest

from tests.cli.test_several import SCRIPT, told
from tests.cluster.images import SHOP, SHOP_WITH_PYTHON
from tests.cluster.nodes import Cluster
from tests.cluster.pods import NAMESPACE, pod
from tests.tracer import Tracer

pytestmark = [pytest.mark.proof, pytest.mark.timeout(1200)]

NAMED = "-Dbtpy.name=OrderApp"
SELECTED = "-l app=shop -n prod"
LABELS = {"app": "shop"}


def test_pods_are_merged_exactly_and_each_fails_alone(kubernetes: Cluster) -> None:
    """Two pods go on, one is deleted, one refuses to be attached, one has no Python. btpy is in none of them."""
    with ExitStack() as stack:
        one, other, vanishing = (
            stack.enter_context(pod(kubernetes, name, NAMED, "Traffic", image=SHOP_WITH_PYTHON, labels=LABELS))
            for name in ("shop-1", "shop-2", "shop-3")
        )
        refusing = ("-XX:+DisableAttachMechanism", NAMED, "Traffic")
        stack.enter_context(pod(kubernetes, "shop-4", *refusing, image=SHOP_WITH_PYTHON, labels=LABELS))
        stack.enter_context(pod(kubernetes, "shop-5", NAMED, "Traffic", image=SHOP, labels=LABELS))
        arguments = ["--pods", SELECTED, "OrderApp", "-e", SCRIPT, "--hits", "0", "-f", "ndjson", "--push"]
        tracer = Tracer(arguments, kubernetes.environment)
        stack.callback(tracer.kill)
        told(tracer, "tracing 3 JVMs on 3 pods")
        for traced, calls in ((one, 211), (other, 101), (vanishing, 53)):
            traced.call(calls)
        tracer.wait_for_printed(365)
        kubernetes.kubectl("delete", "pod", "-n", NAMESPACE, "shop-3", "--now")
        told(tracer, "shop-3  error")
        one.call(307)
        other.call(1009)
        tracer.stop()
        counts = Counter(record["host"] for record in tracer.of("printf"))
        assert counts == {"shop-1": 518, "shop-2": 1110, "shop-3": 53}
        assert tracer.maps()["n"] == 1681
        print("\n".join(tracer.stderr))
        for target in (one, other):
            target.assert_left_alone()
