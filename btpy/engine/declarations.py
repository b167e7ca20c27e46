"""The declarations of a program in INSTALL: its maps, and the sampling of its probes."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence

from btpy.lang.builtins import SETTINGS
from btpy.lang.program import Probe
from btpy.lang.syntax import nodes
from btpy.model.attachments import ProbeAttachment
from btpy.model.maps import Linear, Map, Most, Series, SeriesOperator
from btpy.model.sampling import SampleMode, Sampling
from btpy.wire.messages import NO_LEVEL, MapDecl, ProbeDecl


def map_declarations(maps: Iterable[Map]) -> tuple[MapDecl, ...]:
    return tuple(
        MapDecl(map_.id, map_.kind, map_.keys, map_.precision, map_.capacity, map_.evicts, _parameters(map_))
        for map_ in maps
    )


def probe_declarations(
    probes: Iterable[Probe], maps: Sequence[Map], settings: Mapping[str, object], level: int
) -> tuple[ProbeDecl, ...]:
    """``maps``: all maps. ``settings``: the settings of the script of the probes; ``level``: the level of the session;
    probes of a higher level start disabled.
    """
    failures = 0
    if settings.get("on_error") == "disable":
        failures = int(str(settings.get("max_errors", SETTINGS["max_errors"].default)))
    return tuple(_declared(probe, maps, level, failures) for probe in probes)


def written_maps(probe: Probe, maps: Sequence[Map]) -> tuple[int, ...]:
    """Ids of the maps to which the body of a probe, or a function that it calls, writes."""
    trees: tuple[nodes.Tree, ...] = (probe.tree, *probe.calls)
    writes = [node for tree in trees for node in nodes.walk(tree) if isinstance(node, nodes.Assign | nodes.Step)]
    names = {write.target.name for write in writes if isinstance(write.target, nodes.MapReference)}
    return tuple(map_.id for map_ in maps if map_.name in names)


def is_enabled(probe: Probe, level: int) -> bool:
    """Whether a probe is enabled at a level of the session."""
    return probe.level is not None and probe.level <= level


def sampling_declaration(sampling: Sampling | None) -> tuple[SampleMode, int, bool]:
    """``sampling``, ``parameter`` and ``adaptive`` of a probe's declaration."""
    if sampling is None:
        return SampleMode.ALL, _double(0.0), False
    number = 1 / sampling.number if sampling.mode is SampleMode.RATE else sampling.number
    return sampling.mode, _double(number), sampling.adaptive


def _declared(probe: Probe, maps: Sequence[Map], level: int, failures: int) -> ProbeDecl:
    limit = probe.limit
    sampling, parameter, adaptive = sampling_declaration(probe.sampling)
    return ProbeDecl(
        id=probe.id,
        enabled=is_enabled(probe, level),
        sampling=sampling,
        parameter=parameter,
        adaptive=adaptive,
        group=probe.id if probe.sampling is None else probe.sampling.group,
        most_firings=limit.hits,
        most_per_second=limit.rate,
        lifetime_ns=limit.lifetime,
        most_failures=failures,
        level=probe.level or NO_LEVEL,
        host=probe.attachment.host if isinstance(probe.attachment, ProbeAttachment) else probe.id,
        maps=written_maps(probe, maps),
    )


def _parameters(map_: Map) -> tuple[int, ...]:
    """The parameters of a map for its kind, in the order of docs/protocol.md."""
    match map_.parameters:
        case Linear(low, high, step):
            return _double(low), _double(high), _double(step)
        case Series(interval, windows, operator):
            return interval, windows, list(SeriesOperator).index(operator)
        case Most(count):
            return (count,)
        case _:
            return ()


def _double(number: float) -> int:
    """The bits of a double, unsigned."""
    bits: int = struct.unpack(">Q", struct.pack(">d", number))[0]
    return bits
