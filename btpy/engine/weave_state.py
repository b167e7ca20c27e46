"""The known facts about a target, and the changes to it by all scripts of the session.

The versions of a session's instrumentation share one weave state, and its lock. While one version is prepared on the
thread that adds a script, another version answers the agent's requests on the reading thread.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Collection, Iterable, Sequence
from dataclasses import field
from typing import Protocol

from btpy.dataclass import dataclass
from btpy.model.diagnostics import Diagnostic
from btpy.plan.hierarchy import Hierarchy
from btpy.plan.plan import SITES, Refusal, Site, first_site
from btpy.wire.messages import LoadedClass

ARRIVING_SECONDS = 10.0
"""Seconds for which a class may be missing from the loaded classes after btpy has answered the request for it."""

SITES_AT_ONCE = 1024
"""Site ids that are reserved at once for prewoven classes. Other answers use the ids after these ids."""

Place = tuple[int, str, str]
"""A probe, and the name and descriptor of a method that contains it."""

_Method = tuple[str, str, str, str]  # class, loader, name, descriptor


class Version(Protocol):
    """A version of the program. Its identity is all that counts here."""


@dataclass(frozen=True, slots=True)
class PrewovenRecord:
    """The answer that the agent was given for a class file before any thread loads the class. ``version``: the program
    version that made it. ``probes``: the probes of the sites."""

    name: str
    superclass: str
    interfaces: tuple[str, ...]
    shown: bytes
    version: Version
    probes: frozenset[int]
    sites: tuple[Site, ...]
    refusals: tuple[Refusal, ...]
    problems: tuple[Diagnostic, ...]


@dataclass(slots=True)
class WeaveState:
    """``slot``: the slot of the session (CONFIGURED). Fields are read and written under ``lock``; methods that take the
    lock themselves say so.

    ``woven``: by class and loader, the sites in the bytes that the JVM got last. ``naming``: by type, the classes that
        name it, and their loaders, if it is undecided whether operations on the type match.
    ``prewoven``: by id. ``reported``: the reports about loaded classes. ``looked_up``: loaders and types.
    ``extended``: loader and supertype of classes being loaded.
    """

    slot: int
    java_version: str
    lock: threading.RLock = field(default_factory=threading.RLock)
    sites: dict[int, Site] = field(default_factory=dict)
    hierarchy: Hierarchy = field(default_factory=Hierarchy)
    refusals: dict[Refusal, None] = field(default_factory=dict)  # an ordered set
    problems: dict[Diagnostic, None] = field(default_factory=dict)  # likewise
    reported: set[Diagnostic] = field(default_factory=set)
    installed: set[str] = field(default_factory=set)
    woven: dict[tuple[str, str], tuple[Site, ...]] = field(default_factory=dict)
    naming: dict[str, dict[str, str]] = field(default_factory=dict)
    looked_up: set[tuple[str, str]] = field(default_factory=set)
    extended: list[tuple[str, str]] = field(default_factory=list)
    prewoven: dict[int, PrewovenRecord] = field(default_factory=dict)
    _prewoven_method_count: Counter[int] = field(default_factory=Counter)
    _last_prewoven: int = 0
    _reserved: range = range(0)  # sites
    _next_site: int = field(init=False)
    _first_sites: dict[tuple[str, str, bytes, frozenset[int]], int] = field(default_factory=dict)
    _methods: dict[int, dict[_Method, None]] = field(default_factory=dict)  # ordered sets
    _new_sites: list[Site] = field(default_factory=list)  # their methods are not among ``_methods`` yet
    _arriving: deque[tuple[float, str, str, Version]] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self._next_site = first_site(self.slot)

    def take_sites(self, count: int) -> int:
        """The first of ``count`` new site ids."""
        first = self._next_site
        self._next_site += count
        return first

    def has_room(self, count: int) -> bool:
        """Whether ``count`` ids are free."""
        return self._next_site + count <= (self.slot + 1) * SITES

    @property
    def next_site(self) -> int:
        return self._next_site

    def first_site(self, name: str, loader: str, digest: bytes, probes: frozenset[int]) -> int | None:
        """The first site of these bytes, if they had sites before. They get the same sites again, because another agent
        may have the class retransformed at any time."""
        return self._first_sites.get((name, loader, digest, probes))

    def keep_sites(self, name: str, loader: str, digest: bytes, probes: frozenset[int], count: int) -> None:
        """Assigns the next ``count`` sites to these bytes with these probes."""
        self._first_sites[name, loader, digest, probes] = self.take_sites(count)

    def first_prewoven_site(self) -> int:
        """The first of the sites that are reserved for prewoven classes."""
        if len(self._reserved) < SITES_AT_ONCE // 2 and self.has_room(SITES_AT_ONCE):
            first = self.take_sites(SITES_AT_ONCE)
            self._reserved = range(first, first + SITES_AT_ONCE)
        return self._reserved.start

    def preweave(self, prewoven: PrewovenRecord) -> int | None:
        """The id of an answer that is given in advance; its sites begin at :meth:`first_prewoven_site`. None: the
        answer has too many sites.
        """
        if len(prewoven.sites) > len(self._reserved):
            return None
        self._reserved = self._reserved[len(prewoven.sites) :]
        self._last_prewoven += 1
        self.prewoven[self._last_prewoven] = prewoven
        self._prewoven_method_count.update(_methods_of(prewoven.sites))
        return self._last_prewoven

    def prewoven_method_count(self, probe: int) -> int:
        """The number of further methods of the probe if all prewoven classes are loaded."""
        return self._prewoven_method_count[probe]

    def forget_prewoven(self) -> None:
        """Called when the agent has discarded all answers and has reported the answers that it used."""
        self._prewoven_method_count.clear()
        self.prewoven.clear()

    def arrived(self, id_: int, loader: str) -> bool:
        """Called when a prewoven class was loaded and got its answer. False: no answer has that id."""
        prewoven = self.prewoven.get(id_)
        if prewoven is None:
            return False
        if prewoven.sites:
            del self.prewoven[id_]
            self._prewoven_method_count.subtract(_methods_of(prewoven.sites))
            self._first_sites[prewoven.name, loader, prewoven.shown, prewoven.probes] = prewoven.sites[0].id
        self.hierarchy.add(prewoven.name, prewoven.superclass, prewoven.interfaces)
        self.arrives(prewoven.name, loader, prewoven.version)
        for refusal in prewoven.refusals:
            self.refuse(refusal)
        self.find(prewoven.problems)
        self.wove(prewoven.name, loader, [site.of_loader(loader) for site in prewoven.sites])
        return True

    def wove(self, name: str, loader: str, sites: Sequence[Site]) -> None:
        """Called when the JVM gets the class with these sites, which name its loader. An unchanged class has no
        sites."""
        for site in sites:
            self.sites[site.id] = site
        if sites:
            self._new_sites += sites
            self.woven[name, loader] = tuple(sites)
        else:
            self.woven.pop((name, loader), None)

    def withdraw(self, name: str, loader: str, sites: Iterable[Site]) -> None:
        """Called when the class was prewoven with these sites, but the JVM did not get that form."""
        methods = self._all_methods()
        for site in sites:
            self.sites.pop(site.id, None)
            methods.get(site.probe, {}).pop((name, loader, site.method, site.descriptor), None)
            self.woven.pop((name, loader), None)

    def resume(self, sites: Iterable[Site], agent_sites: Iterable[int]) -> None:
        """Takes over the woven classes of a former client, and the sites of its probes in the agent. Before all
        else.
        """
        sites_of: dict[tuple[str, str], list[Site]] = {}
        for site in sites:
            sites_of.setdefault((site.class_name, site.loader), []).append(site)
        for (name, loader), sites_of_class in sites_of.items():
            self.wove(name, loader, sites_of_class)
        self._next_site = max((self._next_site, *(site + 1 for site in (*self.sites, *agent_sites))))

    def places(self, name: str, loader: str) -> frozenset[Place]:
        """The sites in a class."""
        return frozenset((site.probe, site.method, site.descriptor) for site in self.woven.get((name, loader), ()))

    def methods(self, probe: int) -> Collection[_Method]:
        """The methods that have contained the probe."""
        return self._all_methods().get(probe, {})

    def _all_methods(self) -> dict[int, dict[_Method, None]]:
        """The methods that have contained each probe. The methods of new sites are added here, because an attach to
        much seldom needs them, and ends earlier.
        """
        for site in self._new_sites:
            key = (site.class_name, site.loader, site.method, site.descriptor)
            self._methods.setdefault(site.probe, {})[key] = None
        self._new_sites.clear()
        return self._methods

    def holding(self, probes: Iterable[int]) -> list[tuple[str, str]]:
        """Name and loader of the classes that contain one of the probes."""
        ids = frozenset(probes)
        return [where for where, sites in self.woven.items() if any(site.probe in ids for site in sites)]

    def learn(self, loaded_classes: Iterable[LoadedClass]) -> None:
        """Remember the supertypes of loaded classes. Takes the lock."""
        with self.lock:
            for loaded_class in loaded_classes:
                self.hierarchy.add(loaded_class.name, loaded_class.superclass, loaded_class.interfaces)

    def add_installed(self, handlers: Iterable[str]) -> None:
        """These handler classes are defined in the target: they need not be sent with woven classes. Takes the lock."""
        with self.lock:
            self.installed.update(handlers)

    def add_refusals(self, refusals: Iterable[Refusal]) -> None:
        """Takes the lock."""
        with self.lock:
            for refusal in refusals:
                self.refuse(refusal)

    def add_told(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Marks diagnostics as reported, so they are not repeated for classes that are loaded later. Takes the lock."""
        with self.lock:
            self.reported.update(diagnostics)

    @property
    def all_sites(self) -> tuple[Site, ...]:
        """Takes the lock."""
        with self.lock:
            return tuple(self.sites.values())

    @property
    def all_refusals(self) -> tuple[Refusal, ...]:
        """Code that was not woven, with the reasons. Takes the lock."""
        with self.lock:
            return tuple(self.refusals)

    @property
    def all_problems(self) -> tuple[Diagnostic, ...]:
        """The reasons why probes do not fit methods of classes that were loaded after the program. Takes the lock."""
        with self.lock:
            return tuple(self.problems)

    def arrives(self, name: str, loader: str, version: Version) -> None:
        """Called when this version answers the agent's request for a class that is being loaded."""
        now = time.monotonic()
        while self._arriving and self._arriving[0][0] < now - ARRIVING_SECONDS:
            self._arriving.popleft()
        self._arriving.append((now, name, loader, version))

    def take_arriving(self, version: Version) -> set[tuple[str, str]]:
        """Name and loader of the classes for which another version has answered recently while they were being loaded.
        Each class is returned once.
        """
        since = time.monotonic() - ARRIVING_SECONDS
        names = {(name, loader) for at, name, loader, by in self._arriving if at >= since and by is not version}
        self._arriving = deque(arrival for arrival in self._arriving if arrival[3] is version)
        return names

    def find(self, problems: Iterable[Diagnostic]) -> None:
        self.problems.update(dict.fromkeys(problem for problem in problems if problem not in self.reported))

    def refuse(self, refusal: Refusal) -> None:
        self.refusals[refusal] = None


def _methods_of(sites: Iterable[Site]) -> Counter[int]:
    """The number of methods that contain each probe."""
    return Counter(probe for probe, _, _ in {(site.probe, site.method, site.descriptor) for site in sites})
