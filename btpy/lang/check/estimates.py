"""Finds the maps whose samples represent other hits. The values of these maps are estimates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from btpy.lang.builtins import WEIGHED
from btpy.lang.check.checking import Checking
from btpy.lang.check.sampling import weight_text
from btpy.lang.program import Probe, Program
from btpy.lang.syntax import nodes
from btpy.model.attachments import MethodAttachment, ProbeAttachment
from btpy.model.sampling import Sampling


def mark_estimates(checking: Checking) -> None:
    """Marks the maps to which sampled probes add, and the maps that only an imported library prints."""
    estimated = _estimated([*checking.shared.earlier.probes, *(draft.probe for draft in checking.drafts)])
    checking.maps = {
        name: replace(
            map_,
            estimated=estimated.get(name, map_.estimated),
            imported=name.rpartition(".")[0] in checking.linked.imported,
        )
        for name, map_ in checking.maps.items()
    }


def resampled(program: Program, sampling: Sampling) -> Program:
    """The program with another sampling for all its method probes, instead of their ``@Sample``."""
    probes = tuple(
        replace(probe, sampling=replace(sampling, group=probe.id))
        if isinstance(probe.attachment, MethodAttachment)
        else probe
        for probe in program.probes
    )
    estimated = _estimated(probes)
    maps = tuple(replace(map_, estimated=estimated.get(map_.name)) for map_ in program.maps)
    return replace(program, probes=probes, maps=maps)


def _estimated(probes: Sequence[Probe]) -> dict[str, str]:
    """The maps to which a sampled probe adds weighted samples, with the weight as text. The id of a probe is its
    index.
    """
    weights: dict[str, set[str]] = {}
    for probe in probes:
        attachment = probe.attachment
        host = probes[attachment.host] if isinstance(attachment, ProbeAttachment) else probe
        weight = weight_text(host.sampling)
        trees: tuple[nodes.Tree, ...] = (probe.tree, *probe.calls)
        for node in (node for tree in trees for node in nodes.walk(tree)):
            match node:
                case nodes.Assign(target=nodes.MapReference() as target, value=nodes.Call() as call):
                    if call.function.text in WEIGHED:
                        weights.setdefault(target.name, set()).add(weight)
                case _:
                    pass
    return {
        name: "?" if "?" in weights_of else "…".join(sorted(weights_of, key=float))
        for name, weights_of in weights.items()
        if weights_of != {"1"}
    }
