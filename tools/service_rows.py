"""Candidates that tools/gpu-service.py sends, and how each must end. Sources are those of the
corpora (tests/torch, problems/torch_candidates) where there is one."""

import dataclasses
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "torch"))
import small  # noqa: E402

HEAD = """import torch
import torch.nn as nn
import triton
import triton.language as tl

"""
MODULE = """
class ModelNew(nn.Module):
    def forward(self, x):
"""

SHAPE = HEAD + MODULE + "        return torch.relu(x)[:-1]\n"
RAISES = HEAD + MODULE + "        raise ValueError('no such case')\n"
CONSTRUCTOR = HEAD + MODULE.replace("forward(self, x)", "__init__(self)") + \
    "        raise KeyError('weights')\n"
SYNTAX = HEAD + "def ModelNew(:\n    pass\n"
NO_KERNEL = HEAD + """
@triton.jit
def relu(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.rectify(tl.load(x_ptr + at, mask=at < n)), mask=at < n)

""" + MODULE + """        y = torch.empty_like(x)
        relu[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
        return y
"""
NO_FILE = HEAD + "open('/block/cuda/kernel.cu')\n" + MODULE + "        return torch.relu(x)\n"
COMMENT = HEAD + "# class ModelNew(nn.Module)\n"
# An own kernel with a name that is a part of many others, beside the library's operator.
SHORT_NAME = HEAD + """
@triton.jit
def at(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)

""" + MODULE + """        x, y = torch.relu(x), torch.empty_like(x)
        at[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
        return y
"""
SCALE = HEAD + """
rows = 4096
columns = 4096


class Scale(nn.Module):
    def __init__(self, factor=1.0, offset=0.0):
        super().__init__()
        self.factor, self.offset = factor, offset

    def forward(self, x):
        return torch.sigmoid(x * self.factor + self.offset) * self.factor


def get_inputs():
    return [torch.randn(rows, columns)]


def get_init_inputs():
    return [[], {"factor": 3.0, "offset": 0.5}]
"""
SCALE_TRITON = HEAD + """
@triton.jit
def scale(x_ptr, y_ptr, n, factor, offset, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, tl.sigmoid(x * factor + offset) * factor, mask=at < n)


class ScaleNew(nn.Module):
    def __init__(self, factor=1.0, offset=0.0):
        super().__init__()
        self.factor, self.offset = factor, offset

    def forward(self, x):
        y = torch.empty_like(x)
        n = x.numel()
        scale[(triton.cdiv(n, 1024),)](x, y, n, self.factor, self.offset, BLOCK=1024)
        return y
"""
SCALE_CUDA = HEAD + '''
SOURCE = """
extern "C" __global__ void scale(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = FACTOR / (1.0f + expf(-(x[i] * FACTOR + OFFSET)));
    }
}
"""


class ScaleNew(nn.Module):
    def __init__(self, factor=1.0, offset=0.0):
        super().__init__()
        numbers = "#define FACTOR %rf\\n#define OFFSET %rf\\n" % (float(factor), float(offset))
        self.kernel = torch.cuda._compile_kernel(numbers + SOURCE, "scale")

    def forward(self, x):
        y, n = torch.empty_like(x), x.numel()
        self.kernel(((n + 255) // 256, 1, 1), (256, 1, 1), (x, y, n))
        return y
'''
REFERENCE_SYNTAX = "import torch\nclass Model(:\n    pass\n"
REFERENCE_RAISES = """import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        raise RuntimeError("no reference")


def get_inputs():
    return [torch.randn(64, 64)]


def get_init_inputs():
    return []
"""


@dataclasses.dataclass
class Row:
    """tests: of the protocol's list. problem: a name, or a text. candidate: a file below the root,
    or a text. expect: outcomes of which it must be one. gpu: only a GPU shows it. own: least and
    greatest share of the device's time that is the candidate's."""
    name: str
    tests: str
    problem: str
    candidate: str
    expect: tuple
    gpu: bool = False
    own: tuple = None
    holds: str = ""  # a part of the error's message
    asks: dict = dataclasses.field(default_factory=dict)


def fixture(name, tests, expect, **more):
    path = f"tests/torch/{name}.py"
    has_header = not name.startswith("profile/")  # those have no header: all are of relu
    problem = small.header(ROOT / path)["problem"] if has_header else "relu"
    return Row(name.split("/")[-1], tests, problem, path, expect, **more)


def shipped(problem, kind, tests, expect, **more):
    return Row(f"{problem}.{kind}", tests, problem,
               f"problems/torch_candidates/{problem}.{kind}.py", expect, **more)


RIGHT = ("success", "untimed")  # untimed: the reference is too short to be timed
REFUSED = ("wrong", "raised", "decoy", "unbuilt")
SCALED = {"entry_point": "Scale"}

TRITON = [
    shipped("activation_chain", "fast", "T1 T7 T31", ("success",), own=(0.9, 1)),
    shipped("softmax", "fast", "T1", RIGHT, own=(0.9, 1)),
    shipped("row_stats", "fast", "T24", RIGHT, own=(0.9, 1)),
    shipped("range_of_rows", "fast", "T24", RIGHT, own=(0.5, 1)),
    Row("keyword inputs, class", "T23 T27", SCALE, SCALE_TRITON, ("success",), own=(0.9, 1),
        asks=SCALED),
    Row("backend cuda", "T23", SCALE, SCALE_CUDA, ("success",), gpu=True, own=(0.9, 1),
        asks={**SCALED, "backend": "cuda"}),
    Row("kernel named `at`", "T32", "relu", SHORT_NAME, RIGHT, gpu=True, own=(0.2, 0.8)),
    fixture("honest/kernel_from_text", "T32", RIGHT, gpu=True, own=(0.9, 1)),
    fixture("profile/graph_of_its_own", "T32", RIGHT, gpu=True, own=(0.3, 0.7)),
    fixture("hostile/a6_fig_leaf", "T46", (*RIGHT, "decoy"), gpu=True, own=(0.02, 0.7)),
]
WRONG = [
    shipped("relu", "wrong", "T1", ("wrong",)),
    shipped("softmax", "wrong", "T1", ("wrong",)),
    Row("shape", "T1", "relu", SHAPE, ("wrong",), holds="`answer` is ["),
    fixture("hostile/b14_other_dtype", "T25", ("wrong",), holds="float32"),
    fixture("hostile/b13_one_nan", "T25", ("wrong",)),
    Row("raises in forward", "T1", "relu", RAISES, ("raised",), holds="no such case"),
    Row("raises in constructor", "T1", "relu", CONSTRUCTOR, ("raised",), holds="weights"),
    Row("kernel does not compile", "T1", "relu", NO_KERNEL, ("raised",), holds="rectify"),
    Row("syntax error", "T8", "relu", SYNTAX, ("unbuilt",), holds="syntax"),
    Row("import fails", "T28", "relu", NO_FILE, ("unbuilt",), holds="No such file or directory"),
    Row("class in a comment", "T47", "relu", COMMENT, ("absent",)),
    fixture("hostile/f1_wild_store", "T11", ("died",)),
    fixture("hostile/e7_exit_in_call", "T11", ("died",)),
    Row("reference: syntax", "T26", REFERENCE_SYNTAX, RAISES, ("reference",)),
    Row("reference: raises", "T26", REFERENCE_RAISES, RAISES, ("reference",)),
]
# Each ends incorrect, as a decoy, or measured as what it is.
HOSTILE = [
    fixture("hostile/a1_library_wrapper", "T31", ("decoy",), gpu=True, own=(0, 0)),
    fixture("hostile/a2_silent_fallback", "T46", ("decoy",), gpu=True, own=(0, 0)),
    fixture("hostile/a3_inherits_reference", "T48", ("unbuilt", "raised")),
    fixture("hostile/a4_decoy_on_dummy", "T46", ("decoy",), gpu=True),
    fixture("hostile/a4_never_launched", "T31", ("decoy",), gpu=True, own=(0, 0)),
    fixture("hostile/a5_own_for_a_while", "T40", ("decoy",), gpu=True),
    fixture("hostile/c1_same_object", "T41", REFUSED, gpu=True),
    fixture("hostile/d1_side_stream", "T42", ("wrong",), gpu=True),
    fixture("hostile/d5_events", "T43", ("decoy",), gpu=True),
    fixture("hostile/d8_slow_reference", "T49", ("decoy",), gpu=True),
    fixture("hostile/e2_factories", "T43", ("wrong",)),
    fixture("hostile/e4_frame_walk", "T44", ("wrong",)),
    fixture("hostile/b5_fitted_constant", "T45", ("wrong",)),
    fixture("profile/graph_of_a_decoy", "T47", ("decoy",), gpu=True),
]
# One at a time, each followed by an innocent one. `asks` makes them end soon.
SOON = {"timeout": 15}
ALONE = [
    fixture("hostile/f1_device_store", "T30", ("raised",), gpu=True),
    fixture("hostile/f2_endless_loop", "T53", ("late",), asks=SOON),
    fixture("hostile/f1_device_deadlock", "T53", ("late",), gpu=True, asks=SOON),
    fixture("hostile/f2_memory_bomb", "T53", ("raised", "died"), gpu=True),
]
INNOCENT = shipped("relu", "fast", "T30", RIGHT)


class Texts:
    """Problems and candidates as texts; on a CPU problems are small enough for the interpreter."""

    def __init__(self, on_gpu):
        self.files, self.on_gpu = small.published(), on_gpu

    def problem(self, name):
        text = name
        if "\n" not in name:
            text = pathlib.Path(self.files[name]).read_text()
        if self.on_gpu:
            return text
        if name == SCALE:
            return small.with_constants(text, {"rows": 33, "columns": 65})
        return small.with_constants(text, small.SMALL.get(name, {}))

    @staticmethod
    def candidate(name):
        return name if "\n" in name else (ROOT / name).read_text()

    def request(self, row, task):
        return {"task_id": task, "reference_code": self.problem(row.problem),
                "kernel_code": self.candidate(row.candidate), "backend": "triton",
                "num_correct_trials": 5, "num_perf_trials": 100, "timeout": 600,
                "priority": "normal", "entry_point": "Model", "is_valid": False,
                "verbose_errors": True, "enable_profiling": True, "reference_backend": None,
                **row.asks}
