"""The instruction set (JVMS §6.5): one row for each instruction, in the order of the opcodes.

Constants carry the mnemonic in upper case.  The tables are indexed by opcode and hold plain integers, because they are
read once for every instruction of every traced method.
"""

from __future__ import annotations

from typing import Final

# Mnemonic, operand format, popped > pushed kinds, with the top of the stack last: I J F D, A for a reference, S for a
# slot of any kind; ? if it depends on the pool entry or the widened instruction.
_INSTRUCTIONS: Final = """
nop - >
aconst_null - >A
iconst_m1 - >I
iconst_0 - >I
iconst_1 - >I
iconst_2 - >I
iconst_3 - >I
iconst_4 - >I
iconst_5 - >I
lconst_0 - >J
lconst_1 - >J
fconst_0 - >F
fconst_1 - >F
fconst_2 - >F
dconst_0 - >D
dconst_1 - >D
bipush byte >I
sipush short >I
ldc pool1 >S
ldc_w pool2 >S
ldc2_w pool2 >SS
iload local >I
lload local >J
fload local >F
dload local >D
aload local >A
iload_0 - >I
iload_1 - >I
iload_2 - >I
iload_3 - >I
lload_0 - >J
lload_1 - >J
lload_2 - >J
lload_3 - >J
fload_0 - >F
fload_1 - >F
fload_2 - >F
fload_3 - >F
dload_0 - >D
dload_1 - >D
dload_2 - >D
dload_3 - >D
aload_0 - >A
aload_1 - >A
aload_2 - >A
aload_3 - >A
iaload - AI>I
laload - AI>J
faload - AI>F
daload - AI>D
aaload - AI>A
baload - AI>I
caload - AI>I
saload - AI>I
istore local I>
lstore local J>
fstore local F>
dstore local D>
astore local A>
istore_0 - I>
istore_1 - I>
istore_2 - I>
istore_3 - I>
lstore_0 - J>
lstore_1 - J>
lstore_2 - J>
lstore_3 - J>
fstore_0 - F>
fstore_1 - F>
fstore_2 - F>
fstore_3 - F>
dstore_0 - D>
dstore_1 - D>
dstore_2 - D>
dstore_3 - D>
astore_0 - A>
astore_1 - A>
astore_2 - A>
astore_3 - A>
iastore - AII>
lastore - AIJ>
fastore - AIF>
dastore - AID>
aastore - AIA>
bastore - AII>
castore - AII>
sastore - AII>
pop - S>
pop2 - SS>
dup - S>SS
dup_x1 - SS>SSS
dup_x2 - SSS>SSSS
dup2 - SS>SSSS
dup2_x1 - SSS>SSSSS
dup2_x2 - SSSS>SSSSSS
swap - SS>SS
iadd - II>I
ladd - JJ>J
fadd - FF>F
dadd - DD>D
isub - II>I
lsub - JJ>J
fsub - FF>F
dsub - DD>D
imul - II>I
lmul - JJ>J
fmul - FF>F
dmul - DD>D
idiv - II>I
ldiv - JJ>J
fdiv - FF>F
ddiv - DD>D
irem - II>I
lrem - JJ>J
frem - FF>F
drem - DD>D
ineg - I>I
lneg - J>J
fneg - F>F
dneg - D>D
ishl - II>I
lshl - JI>J
ishr - II>I
lshr - JI>J
iushr - II>I
lushr - JI>J
iand - II>I
land - JJ>J
ior - II>I
lor - JJ>J
ixor - II>I
lxor - JJ>J
iinc iinc >
i2l - I>J
i2f - I>F
i2d - I>D
l2i - J>I
l2f - J>F
l2d - J>D
f2i - F>I
f2l - F>J
f2d - F>D
d2i - D>I
d2l - D>J
d2f - D>F
i2b - I>I
i2c - I>I
i2s - I>I
lcmp - JJ>I
fcmpl - FF>I
fcmpg - FF>I
dcmpl - DD>I
dcmpg - DD>I
ifeq branch2 I>
ifne branch2 I>
iflt branch2 I>
ifge branch2 I>
ifgt branch2 I>
ifle branch2 I>
if_icmpeq branch2 II>
if_icmpne branch2 II>
if_icmplt branch2 II>
if_icmpge branch2 II>
if_icmpgt branch2 II>
if_icmple branch2 II>
if_acmpeq branch2 AA>
if_acmpne branch2 AA>
goto branch2 >
jsr branch2 >S
ret local >
tableswitch tableswitch I>
lookupswitch lookupswitch I>
ireturn - I>
lreturn - J>
freturn - F>
dreturn - D>
areturn - A>
return - >
getstatic pool2 ?
putstatic pool2 ?
getfield pool2 ?
putfield pool2 ?
invokevirtual pool2 ?
invokespecial pool2 ?
invokestatic pool2 ?
invokeinterface interface ?
invokedynamic dynamic ?
new pool2 >A
newarray type I>A
anewarray pool2 I>A
arraylength - A>I
athrow - A>
checkcast pool2 A>A
instanceof pool2 A>I
monitorenter - A>
monitorexit - A>
wide wide ?
multianewarray array ?
ifnull branch2 A>
ifnonnull branch2 A>
goto_w branch4 >
jsr_w branch4 >S
"""

NOP: Final = 0x00
ACONST_NULL: Final = 0x01
ICONST_M1: Final = 0x02
ICONST_0: Final = 0x03
ICONST_1: Final = 0x04
ICONST_2: Final = 0x05
ICONST_3: Final = 0x06
ICONST_4: Final = 0x07
ICONST_5: Final = 0x08
LCONST_0: Final = 0x09
LCONST_1: Final = 0x0A
FCONST_0: Final = 0x0B
FCONST_1: Final = 0x0C
FCONST_2: Final = 0x0D
DCONST_0: Final = 0x0E
DCONST_1: Final = 0x0F
BIPUSH: Final = 0x10
SIPUSH: Final = 0x11
LDC: Final = 0x12
LDC_W: Final = 0x13
LDC2_W: Final = 0x14
ILOAD: Final = 0x15
LLOAD: Final = 0x16
FLOAD: Final = 0x17
DLOAD: Final = 0x18
ALOAD: Final = 0x19
ILOAD_0: Final = 0x1A
ILOAD_1: Final = 0x1B
ILOAD_2: Final = 0x1C
ILOAD_3: Final = 0x1D
LLOAD_0: Final = 0x1E
LLOAD_1: Final = 0x1F
LLOAD_2: Final = 0x20
LLOAD_3: Final = 0x21
FLOAD_0: Final = 0x22
FLOAD_1: Final = 0x23
FLOAD_2: Final = 0x24
FLOAD_3: Final = 0x25
DLOAD_0: Final = 0x26
DLOAD_1: Final = 0x27
DLOAD_2: Final = 0x28
DLOAD_3: Final = 0x29
ALOAD_0: Final = 0x2A
ALOAD_1: Final = 0x2B
ALOAD_2: Final = 0x2C
ALOAD_3: Final = 0x2D
IALOAD: Final = 0x2E
LALOAD: Final = 0x2F
FALOAD: Final = 0x30
DALOAD: Final = 0x31
AALOAD: Final = 0x32
BALOAD: Final = 0x33
CALOAD: Final = 0x34
SALOAD: Final = 0x35
ISTORE: Final = 0x36
LSTORE: Final = 0x37
FSTORE: Final = 0x38
DSTORE: Final = 0x39
ASTORE: Final = 0x3A
ISTORE_0: Final = 0x3B
ISTORE_1: Final = 0x3C
ISTORE_2: Final = 0x3D
ISTORE_3: Final = 0x3E
LSTORE_0: Final = 0x3F
LSTORE_1: Final = 0x40
LSTORE_2: Final = 0x41
LSTORE_3: Final = 0x42
FSTORE_0: Final = 0x43
FSTORE_1: Final = 0x44
FSTORE_2: Final = 0x45
FSTORE_3: Final = 0x46
DSTORE_0: Final = 0x47
DSTORE_1: Final = 0x48
DSTORE_2: Final = 0x49
DSTORE_3: Final = 0x4A
ASTORE_0: Final = 0x4B
ASTORE_1: Final = 0x4C
ASTORE_2: Final = 0x4D
ASTORE_3: Final = 0x4E
IASTORE: Final = 0x4F
LASTORE: Final = 0x50
FASTORE: Final = 0x51
DASTORE: Final = 0x52
AASTORE: Final = 0x53
BASTORE: Final = 0x54
CASTORE: Final = 0x55
SASTORE: Final = 0x56
POP: Final = 0x57
POP2: Final = 0x58
DUP: Final = 0x59
DUP_X1: Final = 0x5A
DUP_X2: Final = 0x5B
DUP2: Final = 0x5C
DUP2_X1: Final = 0x5D
DUP2_X2: Final = 0x5E
SWAP: Final = 0x5F
IADD: Final = 0x60
LADD: Final = 0x61
FADD: Final = 0x62
DADD: Final = 0x63
ISUB: Final = 0x64
LSUB: Final = 0x65
FSUB: Final = 0x66
DSUB: Final = 0x67
IMUL: Final = 0x68
LMUL: Final = 0x69
FMUL: Final = 0x6A
DMUL: Final = 0x6B
IDIV: Final = 0x6C
LDIV: Final = 0x6D
FDIV: Final = 0x6E
DDIV: Final = 0x6F
IREM: Final = 0x70
LREM: Final = 0x71
FREM: Final = 0x72
DREM: Final = 0x73
INEG: Final = 0x74
LNEG: Final = 0x75
FNEG: Final = 0x76
DNEG: Final = 0x77
ISHL: Final = 0x78
LSHL: Final = 0x79
ISHR: Final = 0x7A
LSHR: Final = 0x7B
IUSHR: Final = 0x7C
LUSHR: Final = 0x7D
IAND: Final = 0x7E
LAND: Final = 0x7F
IOR: Final = 0x80
LOR: Final = 0x81
IXOR: Final = 0x82
LXOR: Final = 0x83
IINC: Final = 0x84
I2L: Final = 0x85
I2F: Final = 0x86
I2D: Final = 0x87
L2I: Final = 0x88
L2F: Final = 0x89
L2D: Final = 0x8A
F2I: Final = 0x8B
F2L: Final = 0x8C
F2D: Final = 0x8D
D2I: Final = 0x8E
D2L: Final = 0x8F
D2F: Final = 0x90
I2B: Final = 0x91
I2C: Final = 0x92
I2S: Final = 0x93
LCMP: Final = 0x94
FCMPL: Final = 0x95
FCMPG: Final = 0x96
DCMPL: Final = 0x97
DCMPG: Final = 0x98
IFEQ: Final = 0x99
IFNE: Final = 0x9A
IFLT: Final = 0x9B
IFGE: Final = 0x9C
IFGT: Final = 0x9D
IFLE: Final = 0x9E
IF_ICMPEQ: Final = 0x9F
IF_ICMPNE: Final = 0xA0
IF_ICMPLT: Final = 0xA1
IF_ICMPGE: Final = 0xA2
IF_ICMPGT: Final = 0xA3
IF_ICMPLE: Final = 0xA4
IF_ACMPEQ: Final = 0xA5
IF_ACMPNE: Final = 0xA6
GOTO: Final = 0xA7
JSR: Final = 0xA8
RET: Final = 0xA9
TABLESWITCH: Final = 0xAA
LOOKUPSWITCH: Final = 0xAB
IRETURN: Final = 0xAC
LRETURN: Final = 0xAD
FRETURN: Final = 0xAE
DRETURN: Final = 0xAF
ARETURN: Final = 0xB0
RETURN: Final = 0xB1
GETSTATIC: Final = 0xB2
PUTSTATIC: Final = 0xB3
GETFIELD: Final = 0xB4
PUTFIELD: Final = 0xB5
INVOKEVIRTUAL: Final = 0xB6
INVOKESPECIAL: Final = 0xB7
INVOKESTATIC: Final = 0xB8
INVOKEINTERFACE: Final = 0xB9
INVOKEDYNAMIC: Final = 0xBA
NEW: Final = 0xBB
NEWARRAY: Final = 0xBC
ANEWARRAY: Final = 0xBD
ARRAYLENGTH: Final = 0xBE
ATHROW: Final = 0xBF
CHECKCAST: Final = 0xC0
INSTANCEOF: Final = 0xC1
MONITORENTER: Final = 0xC2
MONITOREXIT: Final = 0xC3
WIDE: Final = 0xC4
MULTIANEWARRAY: Final = 0xC5
IFNULL: Final = 0xC6
IFNONNULL: Final = 0xC7
GOTO_W: Final = 0xC8
JSR_W: Final = 0xC9

_FORMAT_LENGTHS: Final = {
    "-": 1,  # no operand
    "byte": 2,  # i1 value
    "short": 3,  # i2 value
    "pool1": 2,  # u1 pool index
    "pool2": 3,  # u2 pool index
    "local": 2,  # u1 local variable
    "iinc": 3,  # u1 local variable, i1 amount
    "branch2": 3,  # i2 offset
    "branch4": 5,  # i4 offset
    "type": 2,  # u1 array element type
    "interface": 5,  # u2 pool index, u1 argument slots, u1 0
    "dynamic": 5,  # u2 pool index, u2 0
    "array": 4,  # u2 pool index, u1 dimensions
    "tableswitch": 0,
    "lookupswitch": 0,
    "wide": 0,
}

_rows = [line.split() for line in _INSTRUCTIONS.split("\n") if line]

#: Mnemonic of each defined opcode.
MNEMONICS: Final[tuple[str, ...]] = tuple(row[0] for row in _rows)

#: Operand format of each defined opcode, a key of ``_FORMAT_LENGTHS``.
FORMATS: Final[tuple[str, ...]] = tuple(row[1] for row in _rows)

#: Bytes of an instruction with its opcode; 0 where it varies (switches, ``wide``) and for undefined opcodes.
LENGTHS: Final = bytes(_FORMAT_LENGTHS[row[1]] for row in _rows) + bytes(256 - len(_rows))

#: Kinds popped and pushed, None if they depend on the pool entry or the widened instruction.
EFFECTS: Final[tuple[tuple[str, str] | None, ...]] = tuple(
    None if row[2] == "?" else (row[2].partition(">")[0], row[2].partition(">")[2]) for row in _rows
)


def slots(kinds: str) -> int:
    """Slots of the operand stack that values of these kinds take (JVMS §2.6.2)."""
    return len(kinds) + kinds.count("J") + kinds.count("D")


#: Change of the operand stack in slots, None as in EFFECTS.
STACK_CHANGES: Final[tuple[int | None, ...]] = tuple(
    effect and slots(effect[1]) - slots(effect[0]) for effect in EFFECTS
)

#: True for instructions after which control never reaches the next one (JVMS §4.10.1.6).
ENDS_FLOW: Final[tuple[bool, ...]] = tuple(
    opcode in (GOTO, GOTO_W, RET, ATHROW, TABLESWITCH, LOOKUPSWITCH) or IRETURN <= opcode <= RETURN
    for opcode in range(256)
)

#: Opcodes that load, store or return a value of a descriptor's first character.
LOADS: Final = {
    "Z": ILOAD,
    "B": ILOAD,
    "C": ILOAD,
    "S": ILOAD,
    "I": ILOAD,
    "J": LLOAD,
    "F": FLOAD,
    "D": DLOAD,
    "L": ALOAD,
    "[": ALOAD,
}
STORES: Final = {first: opcode + (ISTORE - ILOAD) for first, opcode in LOADS.items()}

#: Element types of ``newarray``, by its operand (JVMS §6.5).
NEWARRAY_TYPES: Final = dict(zip(range(4, 12), "ZCFDBSIJ", strict=True))

#: Instructions that copy or reorder slots: the number of popped slots, and the indexes of the pushed slots among the
#: popped slots (0: the deepest).
SHUFFLES: Final[dict[int, tuple[int, tuple[int, ...]]]] = {
    DUP: (1, (0, 0)),
    DUP_X1: (2, (1, 0, 1)),
    DUP_X2: (3, (2, 0, 1, 2)),
    DUP2: (2, (0, 1, 0, 1)),
    DUP2_X1: (3, (1, 2, 0, 1, 2)),
    DUP2_X2: (4, (2, 3, 0, 1, 2, 3)),
    SWAP: (2, (1, 0)),
}
