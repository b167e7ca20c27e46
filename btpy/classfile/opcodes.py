"""The instruction set (JVMS §6.5): one row an instruction, in the order of the opcodes.

Constants carry the mnemonic in upper case.  The tables are indexed by opcode and hold plain integers, because they are
read once for every instruction of every traced method.
"""

from __future__ import annotations

# mnemonic, operand format, change of the operand stack in slots (?: depends on the descriptor or on what is widened)
_INSTRUCTIONS = """
nop - 0
aconst_null - 1
iconst_m1 - 1
iconst_0 - 1
iconst_1 - 1
iconst_2 - 1
iconst_3 - 1
iconst_4 - 1
iconst_5 - 1
lconst_0 - 2
lconst_1 - 2
fconst_0 - 1
fconst_1 - 1
fconst_2 - 1
dconst_0 - 2
dconst_1 - 2
bipush byte 1
sipush short 1
ldc pool1 1
ldc_w pool2 1
ldc2_w pool2 2
iload local 1
lload local 2
fload local 1
dload local 2
aload local 1
iload_0 - 1
iload_1 - 1
iload_2 - 1
iload_3 - 1
lload_0 - 2
lload_1 - 2
lload_2 - 2
lload_3 - 2
fload_0 - 1
fload_1 - 1
fload_2 - 1
fload_3 - 1
dload_0 - 2
dload_1 - 2
dload_2 - 2
dload_3 - 2
aload_0 - 1
aload_1 - 1
aload_2 - 1
aload_3 - 1
iaload - -1
laload - 0
faload - -1
daload - 0
aaload - -1
baload - -1
caload - -1
saload - -1
istore local -1
lstore local -2
fstore local -1
dstore local -2
astore local -1
istore_0 - -1
istore_1 - -1
istore_2 - -1
istore_3 - -1
lstore_0 - -2
lstore_1 - -2
lstore_2 - -2
lstore_3 - -2
fstore_0 - -1
fstore_1 - -1
fstore_2 - -1
fstore_3 - -1
dstore_0 - -2
dstore_1 - -2
dstore_2 - -2
dstore_3 - -2
astore_0 - -1
astore_1 - -1
astore_2 - -1
astore_3 - -1
iastore - -3
lastore - -4
fastore - -3
dastore - -4
aastore - -3
bastore - -3
castore - -3
sastore - -3
pop - -1
pop2 - -2
dup - 1
dup_x1 - 1
dup_x2 - 1
dup2 - 2
dup2_x1 - 2
dup2_x2 - 2
swap - 0
iadd - -1
ladd - -2
fadd - -1
dadd - -2
isub - -1
lsub - -2
fsub - -1
dsub - -2
imul - -1
lmul - -2
fmul - -1
dmul - -2
idiv - -1
ldiv - -2
fdiv - -1
ddiv - -2
irem - -1
lrem - -2
frem - -1
drem - -2
ineg - 0
lneg - 0
fneg - 0
dneg - 0
ishl - -1
lshl - -1
ishr - -1
lshr - -1
iushr - -1
lushr - -1
iand - -1
land - -2
ior - -1
lor - -2
ixor - -1
lxor - -2
iinc iinc 0
i2l - 1
i2f - 0
i2d - 1
l2i - -1
l2f - -1
l2d - 0
f2i - 0
f2l - 1
f2d - 1
d2i - -1
d2l - 0
d2f - -1
i2b - 0
i2c - 0
i2s - 0
lcmp - -3
fcmpl - -1
fcmpg - -1
dcmpl - -3
dcmpg - -3
ifeq branch2 -1
ifne branch2 -1
iflt branch2 -1
ifge branch2 -1
ifgt branch2 -1
ifle branch2 -1
if_icmpeq branch2 -2
if_icmpne branch2 -2
if_icmplt branch2 -2
if_icmpge branch2 -2
if_icmpgt branch2 -2
if_icmple branch2 -2
if_acmpeq branch2 -2
if_acmpne branch2 -2
goto branch2 0
jsr branch2 1
ret local 0
tableswitch tableswitch -1
lookupswitch lookupswitch -1
ireturn - -1
lreturn - -2
freturn - -1
dreturn - -2
areturn - -1
return - 0
getstatic pool2 ?
putstatic pool2 ?
getfield pool2 ?
putfield pool2 ?
invokevirtual pool2 ?
invokespecial pool2 ?
invokestatic pool2 ?
invokeinterface interface ?
invokedynamic dynamic ?
new pool2 1
newarray type 0
anewarray pool2 0
arraylength - 0
athrow - -1
checkcast pool2 0
instanceof pool2 0
monitorenter - -1
monitorexit - -1
wide wide ?
multianewarray array ?
ifnull branch2 -1
ifnonnull branch2 -1
goto_w branch4 0
jsr_w branch4 1
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

#: Change of the operand stack in slots, None where the pool entry or the widened instruction decides.
STACK_CHANGES: tuple[int | None, ...] = tuple(None if row[2] == "?" else int(row[2]) for row in _rows)

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

#: Instructions that copy or reorder slots: how many they take, and which of those (0: the deepest) they leave.
SHUFFLES: dict[int, tuple[int, tuple[int, ...]]] = {
    DUP: (1, (0, 0)),
    DUP_X1: (2, (1, 0, 1)),
    DUP_X2: (3, (2, 0, 1, 2)),
    DUP2: (2, (0, 1, 0, 1)),
    DUP2_X1: (3, (1, 2, 0, 1, 2)),
    DUP2_X2: (4, (2, 3, 0, 1, 2, 3)),
    SWAP: (2, (1, 0)),
}
