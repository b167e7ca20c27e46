"""Flags and limits of class files, with the names and values of the Java Virtual Machine Specification (JVMS)."""

from __future__ import annotations

from typing import Final

# access_flags of classes, fields and methods (JVMS §4.1, §4.5, §4.6)
ACC_PUBLIC: Final = 0x0001
ACC_PRIVATE: Final = 0x0002
ACC_PROTECTED: Final = 0x0004
ACC_STATIC: Final = 0x0008
ACC_FINAL: Final = 0x0010
ACC_SUPER: Final = 0x0020  # of classes
ACC_SYNCHRONIZED: Final = 0x0020  # of methods
ACC_BRIDGE: Final = 0x0040
ACC_NATIVE: Final = 0x0100
ACC_INTERFACE: Final = 0x0200
ACC_ABSTRACT: Final = 0x0400
ACC_SYNTHETIC: Final = 0x1000
ACC_ANNOTATION: Final = 0x2000
ACC_ENUM: Final = 0x4000

FIRST_WITH_FRAMES: Final = 50
"""Class files from this major version on have a StackMapTable (JVMS §4.10)."""

MAX_CODE_LENGTH: Final = 65_535
"""Bytes of the code of a method (JVMS §4.7.3)."""

MAX_LOCALS: Final = 65_535
"""Slots of local variables (JVMS §4.11)."""

MAX_STACK: Final = 65_535
"""Slots of the operand stack (JVMS §4.11)."""

MAX_HANDLERS: Final = 65_535
"""Rows of an exception table (JVMS §4.7.3)."""

MAX_PARAMETER_SLOTS: Final = 255
"""Slots of the arguments of a method, ``this`` included (JVMS §4.3.3)."""

MAX_POOL_COUNT: Final = 65_535
"""``constant_pool_count`` (JVMS §4.1)."""

MAX_UTF8_LENGTH: Final = 65_535
"""Bytes of a CONSTANT_Utf8 (JVMS §4.4.7)."""
