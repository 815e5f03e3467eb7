"""The control block of src/gym/tensor/tensor_wire.h for ctypes.

tests/unit/test_torch_wire.c compares every offset with the compiler's. This file does not use
torch.
"""

import ctypes as c

MAGIC = 0x6B677431
VERSION = 2
TEXT = 96 << 10
LEAVES = 256
RANK = 8
NAME = 96
ALIGN = 256
GUARD = 4096
STRUCTURE = 1024

FD_CTRL, FD_IN, FD_OUT = 3, 4, 5

DTYPES = ("float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8",
          "bool")

COMMANDS = ("none", "load", "describe", "build", "state", "bind", "call", "draw", "snapshot",
            "null", "exit", "profile", "time", "timed")
STATUSES = ("ok", "exception", "no_entry", "syntax", "state", "needs_gpu", "too_large", "structure",
            "out_of_memory")
(OK, EXCEPTION, NO_ENTRY, SYNTAX, STATE, NEEDS_GPU, TOO_LARGE, BAD_STRUCTURE,
 OUT_OF_MEMORY) = range(9)

BOOT, READY = 0, 1
WIDE, TRAIN, NEAR, POLITE, DRAWS, BIND, FINE, ROUND = 1, 2, 4, 8, 16, 32, 64, 128
ORDER, LATE, LEFT, INPUTS, MORE, AHEAD, ANEW = (1 << n for n in range(8, 15))
PART_AT, PART_MOST = 16, 31  # of STATE's and SNAPSHOT's flags: a part of LEAVES tensors
ROUNDING = 16  # from this bit on: which rounding of a call, 0: as it is; with NEAR: see move
LAWS = ("own", "new-seed", "single-edit", "other-parameters", "bf16", "spike", "smallint", "large",
        "precision", "inside", "touched", "touched-elsewhere", "raised", "normal", "uniform",
        "heavy", "sparse", "offset", "small", "equal", "wideint")
LAW_AT, LAW_MOST = 16, 31  # of DRAW's flags: 1 + the number of a law,
WHICH_AT, WHICH_MOST = 21, 63  # an input,
MATE_AT, MATE_MOST = 27, 15  # and 1 + another one
NEARS = NEAR | FINE | ROUND
BUSY, WAITS = 1, 2  # of `building`; the trusted side writes 0


class Leaf(c.Structure):
    _fields_ = [
        ("dtype", c.c_uint32),
        ("rank", c.c_uint32),
        ("offset", c.c_uint64),
        ("bytes", c.c_uint64),
        ("shape", c.c_int64 * RANK),
        ("stride", c.c_int64 * RANK),
        ("copied", c.c_uint32),
        ("device", c.c_uint32),
        ("aliases", c.c_uint32),
        ("laid", c.c_uint32),
        ("name", c.c_char * NAME),
    ]


class Wire(c.Structure):
    _fields_ = [
        ("magic", c.c_uint32),
        ("version", c.c_uint32),
        ("go", c.c_uint32),
        ("done", c.c_uint32),
        ("state", c.c_uint32),
        ("announced", c.c_uint32),
        ("prepared", c.c_uint32),
        ("command", c.c_uint32),
        ("flags", c.c_uint32),
        ("request_bytes", c.c_uint32),
        ("nrequest", c.c_uint32),
        ("nonce", c.c_uint64 * 2),
        ("seed", c.c_uint64),
        ("in_bytes", c.c_uint64),
        ("out_bytes", c.c_uint64),
        ("out_below", c.c_uint64),
        ("may_keep", c.c_uint64),
        ("status", c.c_uint32),
        ("reply_bytes", c.c_uint32),
        ("nreply", c.c_uint32),
        ("building", c.c_uint32),
        ("echo", c.c_uint64 * 2),
        ("call_ns", c.c_uint64),
        ("peak_bytes", c.c_uint64),
        ("structure", c.c_char * STRUCTURE),
        ("request", c.c_char * TEXT),
        ("reply", c.c_char * TEXT),
        # "in" is a keyword of Python
        ("in_", Leaf * LEAVES),
        ("out", Leaf * LEAVES),
        ("fault_signal", c.c_uint32),
        ("fault_write", c.c_uint32),
        ("fault_address", c.c_uint64),
    ]


def layout():
    """Sizes and offsets of both structures, and the names of the enums, for the test."""
    def of(structure):
        fields = {name.rstrip("_"): [getattr(structure, name).offset, getattr(structure, name).size]
                  for name, _ in structure._fields_}
        return {"size": c.sizeof(structure), "fields": fields}
    return {"leaf": of(Leaf), "wire": of(Wire), "dtypes": list(DTYPES),
            "commands": list(COMMANDS), "statuses": list(STATUSES), "magic": MAGIC,
            "version": VERSION,
            "laws": list(LAWS), "law_at": LAW_AT, "law_most": LAW_MOST, "which_at": WHICH_AT,
            "which_most": WHICH_MOST, "mate_at": MATE_AT, "mate_most": MATE_MOST,
            "more": MORE, "ahead": AHEAD, "part_at": PART_AT, "part_most": PART_MOST}
