"""btpy traces running JVMs.

    import btpy

    with btpy.attach("OrderApp") as session:
        session.add("com.acme.PricingEngine::quote @return { @took[$sku] = hist(duration) }")
        for event in session.events(timeout=60):
            print(event)
        print(session.maps["@took"])

docs/python.md has more. Names are loaded on first use, so importing btpy is cheap.
"""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers know this name; importing typing takes longer than btpy --help

if TYPE_CHECKING:
    from btpy.api.check import check
    from btpy.api.events import Event, Location
    from btpy.api.exporting import Export, export
    from btpy.api.maps import Histogram, MapView
    from btpy.api.multi_target import Sessions, attach_all
    from btpy.api.probes import Probe
    from btpy.api.session import Session, attach, launch
    from btpy.engine.receipt import Receipt
    from btpy.engine.target import Limits
    from btpy.errors import (
        AttachError,
        BtpyError,
        CompileError,
        NothingMatched,
        ProtocolError,
        ScriptError,
        TargetGone,
        UsageError,
    )
    from btpy.model.attach_method import AttachMethod

_HOMES = {
    "btpy.errors": (
        "AttachError",
        "BtpyError",
        "CompileError",
        "NothingMatched",
        "ProtocolError",
        "ScriptError",
        "TargetGone",
        "UsageError",
    ),
    "btpy.api.check": ("check",),
    "btpy.api.events": ("Event", "Location"),
    "btpy.api.exporting": ("Export", "export"),
    "btpy.api.maps": ("Histogram", "MapView"),
    "btpy.api.probes": ("Probe",),
    "btpy.api.session": ("Session", "attach", "launch"),
    "btpy.api.multi_target": ("Sessions", "attach_all"),
    "btpy.engine.receipt": ("Receipt",),
    "btpy.engine.target": ("Limits",),
    "btpy.model.attach_method": ("AttachMethod",),
}

__all__ = [
    "AttachError",
    "AttachMethod",
    "BtpyError",
    "CompileError",
    "Event",
    "Export",
    "Histogram",
    "Limits",
    "Location",
    "MapView",
    "NothingMatched",
    "Probe",
    "ProtocolError",
    "Receipt",
    "ScriptError",
    "Session",
    "Sessions",
    "TargetGone",
    "UsageError",
    "attach",
    "attach_all",
    "check",
    "export",
    "launch",
]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        for module, names in _HOMES.items():
            if name in names:
                from importlib import import_module

                return getattr(import_module(module), name)
        raise AttributeError(f"module 'btpy' has no attribute {name!r}")
