"""The class of a JFR event. Handlers create its objects; JFR adds the code that writes them.

    @Registered(false) @Name("com.acme.Order") @Label("com.acme.Order") @Category("btpy")
    public final class Handler_… extends jdk.jfr.Event {
        public static final Handler_… SAMPLE = new Handler_…();
        @Timespan public long took;
    }

The agent defines the class as it defines handlers, and registers it with JFR until the session ends. Handlers
ask ``SAMPLE`` whether a recording has the event enabled, so that a firing creates no object if no recording has.
"""

from __future__ import annotations

import struct
from functools import cache

from btpy.classfile import opcodes as op
from btpy.classfile.assembler import ClassBuilder
from btpy.classfile.jvms import ACC_FINAL, ACC_PUBLIC, ACC_STATIC, ACC_SUPER
from btpy.classfile.pool import ConstantPool
from btpy.codegen.handler_class import PLACEHOLDER, HandlerClass, content_name
from btpy.codegen.runtime_api import RuntimeMethod
from btpy.model.jfr import JfrEvent
from btpy.model.types import Kind, Type

SAMPLE = "btpy-sample"
"""The static field. No field of a script can have this name."""

_EVENT = "jdk/jfr/Event"
_CATEGORY = "btpy"
_DESCRIPTORS = {
    Kind.BOOLEAN: "Z",
    Kind.CHAR: "C",
    Kind.INT: "I",
    Kind.LONG: "J",
    Kind.DURATION: "J",
    Kind.BYTES: "J",
    Kind.DOUBLE: "D",
    Kind.STRING: "Ljava/lang/String;",
}
_UNITS = {Kind.DURATION: "Ljdk/jfr/Timespan;", Kind.BYTES: "Ljdk/jfr/DataAmount;"}  # nanoseconds and bytes


def field_descriptor(type_: Type) -> str:
    descriptor = _DESCRIPTORS.get(type_.kind)
    if descriptor is not None:
        return descriptor
    assert type_.class_name is not None
    return f"L{type_.class_name.replace('.', '/')};"


@cache
def event_class(event: JfrEvent) -> HandlerClass:
    descriptor = f"L{PLACEHOLDER};"
    builder = ClassBuilder(PLACEHOLDER, access=ACC_PUBLIC | ACC_FINAL | ACC_SUPER, super_name=_EVENT)
    pool = builder.pool
    builder.attribute(
        _ANNOTATIONS,
        _annotations(
            _annotation(pool, "Ljdk/jfr/Registered;", b"Z" + struct.pack(">H", pool.integer(0))),
            _annotation(pool, "Ljdk/jfr/Name;", _text(pool, event.name)),
            _annotation(pool, "Ljdk/jfr/Label;", _text(pool, event.name)),
            _annotation(pool, "Ljdk/jfr/Category;", b"[\x00\x01" + _text(pool, _CATEGORY)),
        ),
    )
    builder.field(ACC_PUBLIC | ACC_STATIC | ACC_FINAL, SAMPLE, descriptor)
    for field in event.fields:
        labels = [_annotation(pool, "Ljdk/jfr/Label;", _text(pool, field.name))]
        if field.type.kind in _UNITS:
            labels.append(_annotation(pool, _UNITS[field.type.kind]))
        builder.field(ACC_PUBLIC, field.name, field_descriptor(field.type), [(_ANNOTATIONS, _annotations(*labels))])
    create = builder.method(ACC_PUBLIC, "<init>", "()V")
    create.load("A", 0)
    create.invoke(op.INVOKESPECIAL, _EVENT, "<init>", "()V")
    create.return_()
    start = builder.method(ACC_STATIC, "<clinit>", "()V")
    start.type(op.NEW, PLACEHOLDER)
    start.op(op.DUP)
    start.invoke(op.INVOKESPECIAL, PLACEHOLDER, "<init>", "()V")
    start.field(op.PUTSTATIC, PLACEHOLDER, SAMPLE, descriptor)
    start.return_()
    anonymous = builder.to_bytes()
    name = content_name(anonymous)
    # No name of an event or a field has a slash, so only the names of the class itself are replaced.
    return HandlerClass(name.replace("/", "."), anonymous.replace(PLACEHOLDER.encode(), name.encode()), "()V")


def internal_name(event: JfrEvent) -> str:
    return event_class(event).class_name.replace(".", "/")


def is_enabled(event: JfrEvent) -> RuntimeMethod:
    return RuntimeMethod(internal_name(event), "isEnabled", "()Z", static=False, guarded=True)


def commit(event: JfrEvent) -> RuntimeMethod:
    """JFR writes the event in code that can be traced."""
    return RuntimeMethod(internal_name(event), "commit", "()V", static=False, guarded=True)


# Annotations (JVMS §4.7.16)

_ANNOTATIONS = "RuntimeVisibleAnnotations"


def _annotations(*annotations: bytes) -> bytes:
    return struct.pack(">H", len(annotations)) + b"".join(annotations)


def _annotation(pool: ConstantPool, descriptor: str, value: bytes | None = None) -> bytes:
    """``value``: the value of the element ``value``; None: the annotation is given no element."""
    if value is None:
        return struct.pack(">HH", pool.utf8(descriptor), 0)
    return struct.pack(">HHH", pool.utf8(descriptor), 1, pool.utf8("value")) + value


def _text(pool: ConstantPool, text: str) -> bytes:
    return b"s" + struct.pack(">H", pool.utf8(text))
