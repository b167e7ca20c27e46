"""``python -m tests.cluster``: runs a cluster of one node until Ctrl-C, with the images of the tests.

The first run builds Kubernetes, which takes eleven minutes of processor time. With the printed variables ``kubectl``
reaches the cluster, and so do the proofs: ``python -m pytest -m proof tests/cluster`` then starts none of its own.
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
    with cluster() as running:
        import_all(running)
        print(f"export KUBECONFIG={running.configuration} BTPY_CLUSTER={running.directory}", flush=True)
        signal.pause()
