"""btpy traces running JVMs.

    import btpy

    with btpy.attach("OrderApp") as session:
        session.add("com.acme.PricingEngine::quote @return { @took[$sku] = hist(duration) }")
        for event in session.events(timeout=60):
            print(event)
        print(session.maps["@took"])

docs/python.md has more. Names are loaded when they are asked for: importing btpy costs nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as type checkers know the name: the module typing costs more than all of btpy --help

if TYPE_CHECKING:
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
    from btpy.live.check import check
    from btpy.live.events import Event, Location
    from btpy.live.maps import Histogram, MapView
    from btpy.live.probes import Probe
    from btpy.live.session import Session, attach, launch
    from btpy.live.several import Sessions, attach_all
    from btpy.session.receipt import Receipt
    from btpy.session.target import Limits

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
    "btpy.live.check": ("check",),
    "btpy.live.events": ("Event", "Location"),
    "btpy.live.maps": ("Histogram", "MapView"),
    "btpy.live.probes": ("Probe",),
    "btpy.live.session": ("Session", "attach", "launch"),
    "btpy.live.several": ("Sessions", "attach_all"),
    "btpy.session.receipt": ("Receipt",),
    "btpy.session.target": ("Limits",),
}

__all__ = [
    "AttachError",
    "BtpyError",
    "CompileError",
    "Event",
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
    "launch",
]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        for module, names in _HOMES.items():
            if name in names:
                from importlib import import_module

                return getattr(import_module(module), name)
        raise AttributeError(f"module 'btpy' has no attribute {name!r}")
