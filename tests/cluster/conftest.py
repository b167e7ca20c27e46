"""One cluster for all tests of this directory: it takes a minute to start."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.images import BTPY, import_all
from tests.cluster.nodes import Cluster, cluster


@pytest.fixture(scope="session")
def kubernetes() -> Iterator[Cluster]:
    """A cluster with the images of the tests and the namespace ``prod``."""
    with cluster() as local_cluster:
        if BTPY not in local_cluster.ctr("images", "list"):
            import_all(local_cluster)
        local_cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "prod"}})
        local_cluster.kubectl("wait", "-n", "prod", "--for=create", "serviceaccount/default", "--timeout=60s")
        yield local_cluster
