"""The images of the pods: btpy's own, and a program of the tests without Python, with Python, and with its JVM alone.

No registry can be reached, so all bases are made here.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.cluster.nodes import Cluster, image
from tests.containers.cells import ROOT
from tests.jdks import compiled, java_home
from tests.live.scripts import JAVA

BTPY = "registry.acme.com/btpy:0.1.0"
"""The name that the page on Kubernetes gives to the image of `make image`."""

SHOP = "registry.acme.com/shop:17"
"""Java and programs of the tests, with the libraries that Java needs, and nothing else: no shell, no Python."""

SHOP_WITH_PYTHON = "registry.acme.com/shop-python:17"
"""The image SHOP with the packages of btpy's image added, but without btpy."""

_JDK = 17


def import_all(cluster: Cluster) -> None:
    """Builds the images and loads them into the cluster."""
    subprocess.run(["make", "image"], cwd=ROOT, check=True, capture_output=True)
    cluster.import_image(ROOT / "dist" / "btpy-image.tar", BTPY)
    home = java_home(_JDK)
    programs = compiled([JAVA / "Traffic.java"], release=11), compiled([JAVA / "Served.java"], release=11)
    files: dict[str, list[Path]] = {"/opt/java": [home], "/opt/shop": list(programs)}
    libraries: dict[str, list[Path]] = {}
    for library in _libraries(home):
        libraries.setdefault(str(library.parent), []).append(library)
    for name, base, more in ((SHOP, "scratch", libraries), (SHOP_WITH_PYTHON, "localhost/btpy-base", {})):
        archive = image(cluster.directory / "shop.tar", name, base, {**files, **more}, ["/opt/java/bin/java"])
        cluster.import_image(archive)
        archive.unlink()


def _libraries(home: Path) -> list[Path]:
    """The libraries of the system that the runtime loads, at the paths where the loader looks for them."""
    libraries = set()
    for program in (home / "bin" / "java", *sorted((home / "lib").rglob("*.so"))):
        result = subprocess.run(["ldd", str(program)], capture_output=True, text=True)
        words = [word for line in result.stdout.splitlines() for word in line.split()]
        libraries |= {Path(word) for word in words if word.startswith("/") and not word.startswith(str(home))}
    return sorted(path for path in libraries if path.exists())
