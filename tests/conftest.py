"""Fixtures for all tests. Java versions: ``tests.jdks.all_jdks``; programs to trace: ``tests.targets.target``."""

from __future__ import annotations

import gc
import os
import zlib
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from btpy.cli.main import YOUNG_OBJECTS
from tests import preloaded, targets
from tests.background import accept_ctrl_c
from tests.generated import ALL
from tests.jdks import ALL_JDKS, MAJORS

# The time of an example depends on the load of the machine, so no test limits it.
settings.register_profile("proof", max_examples=ALL, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("sample", settings.get_profile("proof"), max_examples=ALL // 2)

gc.set_threshold(YOUNG_OBJECTS)  # as in commands of btpy; a worker has many more old objects than a command

accept_ctrl_c()


# Root may run the tests in a directory that belongs to another user, as in a container.
os.environ.setdefault("BTPY_TRUST", str(Path(__file__).stat().st_uid))


TWO_VERSIONS = {"agent", "classfile", "codegen", "corpus", "runtime", "weave"}
"""Directories of tests whose subject runs in the traced JVM, or is its bytecode."""

OPTIMIZED = TWO_VERSIONS - {"agent"}
"""Directories of tests whose programs run bytecode of btpy. The tests of the agent change one constant of a class."""

SHORT = {"completion", "events", "lang", "plan", "present", "wire"}
"""Directories of tests that start almost no process: a module takes seconds."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write tests/golden anew instead of comparing with it"
    )
    parser.addoption(
        "--every-jdk",
        action="store_true",
        help="run tests of all Java versions on each, not on one or two by turns; twice as many generated examples",
    )


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("proof" if config.getoption("--every-jdk") else "sample")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Eleven of twelve modules run in a light form; their names decide which. In these modules, btpy's commands are
    forks of a process that has imported its modules, which saves 0.2 s of processor time for each command. The programs
    run without the optimizing compiler, which saves a quarter of their time; tests of bytecode keep this compiler. With
    ``--every-jdk`` no module is light. In one of twelve modules, commands attach through JPype.
    """
    path = item.path.relative_to(item.config.rootpath)
    number = zlib.crc32(str(path).encode())
    light = not item.config.getoption("--every-jdk") and number % 12 != 0
    preloaded.fork_commands(light)
    if number % 12 == 1:
        os.environ["BTPY_ATTACH"] = "jpype"
    else:
        os.environ.pop("BTPY_ATTACH", None)
    targets.compile_lightly(light and path.parts[1] not in OPTIMIZED)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A test of all Java versions runs on one of them; its name decides which. In ``TWO_VERSIONS`` it runs on an older
    and a newer version.
    """
    if "PYTEST_XDIST_WORKER" in os.environ:
        _put_short_modules_last(items)
    if config.getoption("--every-jdk") or config.option.keyword or any("::" in argument for argument in config.args):
        return
    selection: list[pytest.Item] = []
    deselected_items: list[pytest.Item] = []
    for item in items:
        (selection if runs_on_its_jdk(item) else deselected_items).append(item)
    if deselected_items:
        config.hook.pytest_deselected(items=deselected_items)
        items[:] = selection


def _put_short_modules_last(items: list[pytest.Item]) -> None:
    """With ``--no-loadscope-reorder``, workers take the modules in the order of ``items``. If the last modules are
    short, all workers end at about the same time. Of the other modules, those with many tests are first.
    """
    sizes = Counter(item.path for item in items)

    def place(item: pytest.Item) -> tuple[bool, int]:
        directory = item.path.relative_to(item.config.rootpath).parts[1]
        return directory in SHORT, -sizes[item.path]

    items.sort(key=place)


def runs_on_its_jdk(item: pytest.Item) -> bool:
    parameters = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    if "outcome" in parameters:  # a fixture that runs all scenarios once for each Java version
        return parameters["outcome"] in (MAJORS[0], MAJORS[-1])
    jdk = parameters.get("jdk")
    lists = [mark.args[1] for mark in item.iter_markers("parametrize") if mark.args[1:] in ALL_JDKS]
    if jdk not in MAJORS or not lists:
        return True
    versions = [version for version in MAJORS if version in lists[0]]
    number = zlib.crc32(item.nodeid.partition("[")[0].encode())
    if item.path.relative_to(item.config.rootpath).parts[1] in TWO_VERSIONS:
        older, newer = versions[:2], versions[2:]
        return jdk in (older[number % 2], newer[number // 2 % len(newer)])
    return bool(jdk == versions[number % len(versions)])


class Golden:
    """Compares text with a file under tests/golden, or writes the file with ``--update-golden``."""

    def __init__(self, directory: Path, update: bool) -> None:
        self._directory = directory
        self._update = update

    def check(self, name: str, actual: str) -> None:
        """``name``: path under tests/golden, such as ``lang/unknown_name.txt``."""
        path = self._directory / name
        if self._update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(actual, encoding="utf-8")
            return
        if not path.exists():
            pytest.fail(f"no golden file {name}: run pytest with --update-golden and read what it writes")
        assert actual == path.read_text(encoding="utf-8")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    return Golden(Path(__file__).parent / "golden", request.config.getoption("--update-golden"))
