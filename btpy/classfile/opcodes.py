"""The instruction set (JVMS §6.5): one row for each instruction, in the order of the opcodes.

Constants carry the mnemonic in upper case.  The tables are indexed by opcode and hold plain integers, because they are
read once for every instruction of every traced method.
"""

from __future__ import annotations

# Mnemonic, operand format, popped > pushed kinds, with the top of the stack last: I J F D, A for a reference, S for a
# slot of any kind; ? if it depends on the pool entry or the widened instruction.
_INSTRUCTIONS = """
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

NOP = 0x00
ACONST_NULL = 0x01
ICONST_M1 = 0x02
ICONST_0 = 0x03
ICONST_1 = 0x04
ICONST_2 = 0x05
ICONST_3 = 0x06
ICONST_4 = 0x07
ICONST_5 = 0x08
LCONST_0 = 0x09
LCONST_1 = 0x0A
FCONST_0 = 0x0B
FCONST_1 = 0x0C
FCONST_2 = 0x0D
DCONST_0 = 0x0E
DCONST_1 = 0x0F
BIPUSH = 0x10
SIPUSH = 0x11
LDC = 0x12
LDC_W = 0x13
LDC2_W = 0x14
ILOAD = 0x15
LLOAD = 0x16
FLOAD = 0x17
DLOAD = 0x18
ALOAD = 0x19
ILOAD_0 = 0x1A
ILOAD_1 = 0x1B
ILOAD_2 = 0x1C
ILOAD_3 = 0x1D
LLOAD_0 = 0x1E
LLOAD_1 = 0x1F
LLOAD_2 = 0x20
LLOAD_3 = 0x21
FLOAD_0 = 0x22
FLOAD_1 = 0x23
FLOAD_2 = 0x24
FLOAD_3 = 0x25
DLOAD_0 = 0x26
DLOAD_1 = 0x27
DLOAD_2 = 0x28
DLOAD_3 = 0x29
ALOAD_0 = 0x2A
ALOAD_1 = 0x2B
ALOAD_2 = 0x2C
ALOAD_3 = 0x2D
IALOAD = 0x2E
LALOAD = 0x2F
FALOAD = 0x30
DALOAD = 0x31
AALOAD = 0x32
BALOAD = 0x33
CALOAD = 0x34
SALOAD = 0x35
ISTORE = 0x36
LSTORE = 0x37
FSTORE = 0x38
DSTORE = 0x39
ASTORE = 0x3A
ISTORE_0 = 0x3B
ISTORE_1 = 0x3C
ISTORE_2 = 0x3D
ISTORE_3 = 0x3E
LSTORE_0 = 0x3F
LSTORE_1 = 0x40
LSTORE_2 = 0x41
LSTORE_3 = 0x42
FSTORE_0 = 0x43
FSTORE_1 = 0x44
FSTORE_2 = 0x45
FSTORE_3 = 0x46
DSTORE_0 = 0x47
DSTORE_1 = 0x48
DSTORE_2 = 0x49
DSTORE_3 = 0x4A
ASTORE_0 = 0x4B
ASTORE_1 = 0x4C
ASTORE_2 = 0x4D
ASTORE_3 = 0x4E
IASTORE = 0x4F
LASTORE = 0x50
FASTORE = 0x51
DASTORE = 0x52
AASTORE = 0x53
BASTORE = 0x54
CASTORE = 0x55
SASTORE = 0x56
POP = 0x57
POP2 = 0x58
DUP = 0x59
DUP_X1 = 0x5A
DUP_X2 = 0x5B
DUP2 = 0x5C
DUP2_X1 = 0x5D
DUP2_X2 = 0x5E
SWAP = 0x5F
IADD = 0x60
LADD = 0x61
FADD = 0x62
DADD = 0x63
ISUB = 0x64
LSUB = 0x65
FSUB = 0x66
DSUB = 0x67
IMUL = 0x68
LMUL = 0x69
FMUL = 0x6A
DMUL = 0x6B
IDIV = 0x6C
LDIV = 0x6D
FDIV = 0x6E
DDIV = 0x6F
IREM = 0x70
LREM = 0x71
FREM = 0x72
DREM = 0x73
INEG = 0x74
LNEG = 0x75
FNEG = 0x76
DNEG = 0x77
ISHL = 0x78
LSHL = 0x79
ISHR = 0x7A
LSHR = 0x7B
IUSHR = 0x7C
LUSHR = 0x7D
IAND = 0x7E
LAND = 0x7F
IOR = 0x80
LOR = 0x81
IXOR = 0x82
LXOR = 0x83
IINC = 0x84
I2L = 0x85
I2F = 0x86
I2D = 0x87
L2I = 0x88
L2F = 0x89
L2D = 0x8A
F2I = 0x8B
F2L = 0x8C
F2D = 0x8D
D2I = 0x8E
D2L = 0x8F
D2F = 0x90
I2B = 0x91
I2C = 0x92
I2S = 0x93
LCMP = 0x94
FCMPL = 0x95
FCMPG = 0x96
DCMPL = 0x97
DCMPG = 0x98
IFEQ = 0x99
IFNE = 0x9A
IFLT = 0x9B
IFGE = 0x9C
IFGT = 0x9D
IFLE = 0x9E
IF_ICMPEQ = 0x9F
IF_ICMPNE = 0xA0
IF_ICMPLT = 0xA1
IF_ICMPGE = 0xA2
IF_ICMPGT = 0xA3
IF_ICMPLE = 0xA4
IF_ACMPEQ = 0xA5
IF_ACMPNE = 0xA6
GOTO = 0xA7
JSR = 0xA8
RET = 0xA9
TABLESWITCH = 0xAA
LOOKUPSWITCH = 0xAB
IRETURN = 0xAC
LRETURN = 0xAD
FRETURN = 0xAE
DRETURN = 0xAF
ARETURN = 0xB0
RETURN = 0xB1
GETSTATIC = 0xB2
PUTSTATIC = 0xB3
GETFIELD = 0xB4
PUTFIELD = 0xB5
INVOKEVIRTUAL = 0xB6
INVOKESPECIAL = 0xB7
INVOKESTATIC = 0xB8
INVOKEINTERFACE = 0xB9
INVOKEDYNAMIC = 0xBA
NEW = 0xBB
NEWARRAY = 0xBC
ANEWARRAY = 0xBD
ARRAYLENGTH = 0xBE
ATHROW = 0xBF
CHECKCAST = 0xC0
INSTANCEOF = 0xC1
MONITORENTER = 0xC2
MONITOREXIT = 0xC3
WIDE = 0xC4
MULTIANEWARRAY = 0xC5
IFNULL = 0xC6
IFNONNULL = 0xC7
GOTO_W = 0xC8
JSR_W = 0xC9

_FORMAT_LENGTHS = {
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
MNEMONICS: tuple[str, ...] = tuple(row[0] for row in _rows)

#: Operand format of each defined opcode, a key of ``_FORMAT_LENGTHS``.
FORMATS: tuple[str, ...] = tuple(row[1] for row in _rows)

#: Bytes of an instruction with its opcode; 0 where it varies (switches, ``wide``) and for undefined opcodes.
LENGTHS = bytes(_FORMAT_LENGTHS[row[1]] for row in _rows) + bytes(256 - len(_rows))

#: Kinds popped and pushed, None if they depend on the pool entry or the widened instruction.
EFFECTS: tuple[tuple[str, str] | None, ...] = tuple(
    None if row[2] == "?" else (row[2].partition(">")[0], row[2].partition(">")[2]) for row in _rows
)


def slots(kinds: str) -> int:
    """Slots of the operand stack that values of these kinds take (JVMS §2.6.2)."""
    return len(kinds) + kinds.count("J") + kinds.count("D")


#: Change of the operand stack in slots, None as in EFFECTS.
STACK_CHANGES: tuple[int | None, ...] = tuple(effect and slots(effect[1]) - slots(effect[0]) for effect in EFFECTS)

#: True for instructions after which control never reaches the next one (JVMS §4.10.1.6).
ENDS_FLOW: tuple[bool, ...] = tuple(
    opcode in (GOTO, GOTO_W, RET, ATHROW, TABLESWITCH, LOOKUPSWITCH) or IRETURN <= opcode <= RETURN
    for opcode in range(256)
)

#: Opcodes that load, store or return a value of a descriptor's first character.
LOADS = {
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
STORES = {first: opcode + (ISTORE - ILOAD) for first, opcode in LOADS.items()}

#: Element types of ``newarray``, by its operand (JVMS §6.5).
NEWARRAY_TYPES = dict(zip(range(4, 12), "ZCFDBSIJ", strict=True))

#: Instructions that copy or reorder slots: the number of popped slots, and the indexes of the pushed slots among the
#: popped slots (0: the deepest).
SHUFFLES: dict[int, tuple[int, tuple[int, ...]]] = {
    DUP: (1, (0, 0)),
    DUP_X1: (2, (1, 0, 1)),
    DUP_X2: (3, (2, 0, 1, 2)),
    DUP2: (2, (0, 1, 0, 1)),
    DUP2_X1: (3, (1, 2, 0, 1, 2)),
    DUP2_X2: (4, (2, 3, 0, 1, 2, 3)),
    SWAP: (2, (1, 0)),
}
