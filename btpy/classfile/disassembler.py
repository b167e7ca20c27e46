"""A method as text, much as ``javap -c`` shows it: for diffs of woven code, for tests and for bug reports.

    divide(I)I  stack=2 locals=1
         0: bipush 12                                         // line 3
         2: iload_0
         3: idiv
         4: ireturn
      catch [0, 4) -> 5 any
      frame 5: [] [java/lang/Throwable]

Pool indexes are resolved, so that the text does not change when only the pool changes.  :func:`listing` has labels in
place of offsets, so that two versions of a method differ where code was inserted and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from btpy.classfile import frames
from btpy.classfile import opcodes as op
from btpy.classfile import pool as constants
from btpy.classfile.bytecode import branch_target, scan, switch_table, switch_targets
from btpy.classfile.pool import ConstantPool
from btpy.classfile.reader import ClassFile, Code, Member
from btpy.errors import ClassFileError

_MEMBERS: Final = (constants.FIELDREF, constants.METHODREF, constants.INTERFACE_METHODREF)
_SUFFIXES: Final = ("", "f", "L", "d")  # tags of integer, float, long and double constants
_ELEMENTS: Final = (
    "boolean",
    "char",
    "float",
    "double",
    "byte",
    "short",
    "int",
    "long",
)  # element types of newarray, from 4 on


def disassemble(file: ClassFile, method: Member) -> str:
    """The text of a method, lines ended by newlines. Raises ClassFileError."""
    code = method.code
    title = f"{method.name}{method.descriptor}"
    if code is None:
        return f"{title}  no code\n"
    lines = [f"{title}  stack={code.max_stack} locals={code.max_locals}"]
    numbers = dict(code.lines)
    for at in scan(code.code).starts:
        text = f"  {at:6}: {_instruction(code.code, at, file.pool)}"
        lines.append(f"{text:<60} // line {numbers[at]}" if at in numbers else text)
    for row in code.exceptions:
        caught = file.pool.class_at(row.catch_type) if row.catch_type else "any"
        lines.append(f"  catch [{row.start}, {row.end}) -> {row.handler} {caught}")
    lines += [f"  frame {frame}" for frame in _frames(file, method, code)]
    return "\n".join(lines) + "\n"


def disassemble_class(file: ClassFile) -> str:
    """All methods of a class, in the order of the file."""
    return "\n".join(disassemble(file, method) for method in file.methods)


def listing(file: ClassFile, method: Member) -> list[str]:
    """The lines of a method without offsets: jumps go to labels, ranges of handlers begin and end at labels.

    Raises ClassFileError.
    """
    code = method.code
    if code is None:
        return ["no code"]
    bytecode = scan(code.code)
    targets = {branch_target(code.code, at) for at in bytecode.branches}
    targets.update(target for at in bytecode.switches for target in switch_targets(code.code, at))
    targets.update(row.handler for row in code.exceptions)
    labels = {at: f"L{number}" for number, at in enumerate(sorted(targets), 1)}
    numbers = dict(code.lines)
    lines = []
    for at in [*bytecode.starts, len(code.code)]:
        caught = [(row, file.pool.class_at(row.catch_type) if row.catch_type else "any") for row in code.exceptions]
        lines += [f"  }} catch {kind} -> {labels[row.handler]}" for row, kind in caught if row.end == at]
        if at in labels:
            lines.append(f"{labels[at]}:")
        lines += [f"  try {{  // {kind} -> {labels[row.handler]}" for row, kind in caught if row.start == at]
        if at < len(code.code):
            if at in numbers:
                lines.append(f"  // line {numbers[at]}")
            lines.append(f"    {_instruction(code.code, at, file.pool, labels)}")
    return lines


def _instruction(code: bytes, at: int, pool: ConstantPool, labels: Mapping[int, str] | None = None) -> str:
    """``labels``: texts for jump targets instead of offsets."""
    opcode = code[at]
    text = op.MNEMONICS[opcode]
    operands = op.FORMATS[opcode]
    if operands == "wide":
        text = f"wide {op.MNEMONICS[code[at + 1]]}"
        slot = _unsigned(code, at + 2)
        return f"{text} {slot} {_signed(code, at + 4, 2)}" if code[at + 1] == op.IINC else f"{text} {slot}"
    if labels is not None and operands in ("branch2", "branch4"):
        return f"{text} {labels[branch_target(code, at)]}"
    if operands in ("tableswitch", "lookupswitch"):
        return f"{text} {_switch(code, at, labels)}"
    return f"{text} {_OPERANDS[operands](code, at, pool)}".rstrip()


def _switch(code: bytes, at: int, labels: Mapping[int, str] | None) -> str:
    table = switch_table(code, at)
    default, *targets = switch_targets(code, at)
    if code[at] == op.TABLESWITCH:
        keys = list(range(_signed(code, table.default + 4, 4), _signed(code, table.default + 8, 4) + 1))
    else:
        keys = [_signed(code, place - 4, 4) for place in table.places()[1:]]
    names = {target: labels[target] if labels is not None else str(target) for target in (default, *targets)}
    cases = [f"{key}: {names[target]}" for key, target in zip(keys, targets, strict=True)]
    return f"{{{', '.join([*cases, f'default: {names[default]}'])}}}"


def _constant(index: int, pool: ConstantPool) -> str:
    tag = pool.tag_at(index)
    if tag == constants.CLASS:
        return pool.class_at(index)
    if tag == constants.STRING:
        return repr(pool.string_at(index))
    if tag in _MEMBERS:
        owner, name, descriptor = pool.member_at(index)
        return f"{owner}.{name} {descriptor}"
    if tag in (constants.DYNAMIC, constants.INVOKE_DYNAMIC):
        bootstrap, name, descriptor = pool.dynamic_at(index)
        return f"#{bootstrap} {name} {descriptor}"
    if constants.INTEGER <= tag <= constants.DOUBLE:
        return f"{pool.number_at(index)}{_SUFFIXES[tag - constants.INTEGER]}"
    return f"constant with tag {tag}"


def _unsigned(code: bytes, at: int) -> int:
    return code[at] << 8 | code[at + 1]


def _signed(code: bytes, at: int, size: int) -> int:
    return int.from_bytes(code[at : at + size], signed=True)


def _array_type(code: bytes, at: int, pool: ConstantPool) -> str:
    kind = code[at + 1] - 4
    if not 0 <= kind < len(_ELEMENTS):
        raise ClassFileError(f"newarray of the unknown type {code[at + 1]} (JVMS §6.5.newarray)")
    return _ELEMENTS[kind]


_OPERANDS: Final[dict[str, Callable[[bytes, int, ConstantPool], str]]] = {
    "-": lambda code, at, pool: "",
    "byte": lambda code, at, pool: str(_signed(code, at + 1, 1)),
    "short": lambda code, at, pool: str(_signed(code, at + 1, 2)),
    "pool1": lambda code, at, pool: _constant(code[at + 1], pool),
    "pool2": lambda code, at, pool: _constant(_unsigned(code, at + 1), pool),
    "interface": lambda code, at, pool: _constant(_unsigned(code, at + 1), pool),
    "dynamic": lambda code, at, pool: _constant(_unsigned(code, at + 1), pool),
    "array": lambda code, at, pool: f"{_constant(_unsigned(code, at + 1), pool)} {code[at + 3]}",
    "local": lambda code, at, pool: str(code[at + 1]),
    "iinc": lambda code, at, pool: f"{code[at + 1]} {_signed(code, at + 2, 1)}",
    "branch2": lambda code, at, pool: str(branch_target(code, at)),
    "branch4": lambda code, at, pool: str(branch_target(code, at)),
    "type": _array_type,
}


def _frames(file: ClassFile, method: Member, code: Code) -> list[str]:
    content = next((a.content for a in code.attributes if a.name == "StackMapTable"), None)
    if content is None:
        return []
    initial = frames.initial_locals(file.name, method.name, method.descriptor, method.is_static, file.pool)
    return [
        f"{frame.offset}: {_types(frame.locals_, file.pool)} {_types(frame.stack, file.pool)}"
        for frame in frames.decode(content, initial)
    ]


def _types(types: tuple[bytes, ...], pool: ConstantPool) -> str:
    return f"[{', '.join(_type(kind, pool) for kind in types)}]"


def _type(kind: bytes, pool: ConstantPool) -> str:
    if kind[0] == frames.OBJECT:
        return pool.class_at(_unsigned(kind, 1))
    if kind[0] == frames.UNINITIALIZED:
        return f"new@{_unsigned(kind, 1)}"
    return ("top", "int", "float", "double", "long", "null", "uninitializedThis")[kind[0]]
