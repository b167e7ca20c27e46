"""``python -m tests.cluster``: runs a cluster of one node until Ctrl-C, with the images of the tests.

The first run builds Kubernetes, which takes eleven minutes of processor time. With the printed variables ``kubectl``
reaches the cluster, and ``python -m pytest -m proof tests/cluster`` uses it instead of starting another cluster.
"""

from __future__ import annotations

import signal
import sys

from tests.cluster.images import import_all
from tests.cluster.nodes import cluster, why_not

if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit(0))
    reason = why_not()
    if reason:
        sys.exit(f"no cluster: {reason}")
    with cluster() as local_cluster:
        import_all(local_cluster)
        print(f"export KUBECONFIG={local_cluster.configuration} BTPY_CLUSTER={local_cluster.directory}", flush=True)
        signal.pause()
