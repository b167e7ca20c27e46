"""Flags and limits of class files, with the names and values of the Java Virtual Machine Specification (JVMS)."""

# access_flags of classes, fields and methods (JVMS §4.1, §4.5, §4.6)
ACC_PUBLIC = 0x0001
ACC_PRIVATE = 0x0002
ACC_PROTECTED = 0x0004
ACC_STATIC = 0x0008
ACC_FINAL = 0x0010
ACC_SUPER = 0x0020  # of classes
ACC_SYNCHRONIZED = 0x0020  # of methods
ACC_BRIDGE = 0x0040
ACC_NATIVE = 0x0100
ACC_INTERFACE = 0x0200
ACC_ABSTRACT = 0x0400
ACC_SYNTHETIC = 0x1000
ACC_ANNOTATION = 0x2000
ACC_ENUM = 0x4000

FIRST_WITH_FRAMES = 50
"""Class files from this major version on have a StackMapTable (JVMS §4.10)."""

MAX_CODE_LENGTH = 65_535
"""Bytes of the code of a method (JVMS §4.7.3)."""

MAX_LOCALS = 65_535
"""Slots of local variables (JVMS §4.11)."""

MAX_STACK = 65_535
"""Slots of the operand stack (JVMS §4.11)."""

MAX_HANDLERS = 65_535
"""Rows of an exception table (JVMS §4.7.3)."""

MAX_PARAMETER_SLOTS = 255
"""Slots of the arguments of a method, ``this`` included (JVMS §4.3.3)."""

MAX_POOL_COUNT = 65_535
"""``constant_pool_count`` (JVMS §4.1)."""

MAX_UTF8_LENGTH = 65_535
"""Bytes of a CONSTANT_Utf8 (JVMS §4.4.7)."""
