"""Turns an exception into a status and a reply: its type and message, the active lines of the
source file, and a compiler's messages about the candidate's code. All of it is a claim. The
broker bounds it, and filters text that could hold values of an input before a model reads it."""

import dis
import re
import sys
import traceback

import torch

from . import module, source, tensors, wire

NEEDS_GPU = ("Torch not compiled with CUDA enabled", "No CUDA GPUs are available",
             "Found no NVIDIA driver", "CUDA_HOME environment variable is not set",
             "0 active drivers", "CUDA driver initialization failed",
             "Cannot access accelerator device when none is available",
             "Attempting to deserialize object on a CUDA device",
             "CUDA driver version is insufficient", "no CUDA-capable device is detected",
             "libcuda.so.1: cannot open shared object file",
             # torch.cuda.device(x.device), where x is on the CPU
             "Expected a cuda device, but got: cpu",
             # the sandbox of a judge on the CPU hides the devices of a host that has some
             "OS call failed or operation not supported on this OS")
# Allocators without an exception class of their own raise RuntimeError: the allocator of the CPU
# ("DefaultCPUAllocator: can't allocate memory"), and CUDA's where torch does not ask for memory.
# Only their words tell which RuntimeError is one, and whose memory it was.
OUT_OF_MEMORY = {"can't allocate memory": "host", "not enough memory": "host",
                 "CUDA out of memory": "device", "CUDA error: out of memory": "device",
                 "Error [CUDA]: out of memory": "device", "CUBLAS_STATUS_ALLOC_FAILED": "device"}
# Words of libraries and extensions that torch passes on in an error of any class.
LACKS_MEMORY = ("out of memory", "ALLOC_FAILED")
# Errors of the device that its process can't leave behind. Newer versions of torch raise
# AcceleratorError; older ones, extensions and Triton's launcher raise RuntimeError with these
# words.
DEVICE_ERROR = ("CUDA error: ", "Triton Error [CUDA]: ", "CUDA driver error: ")
NO_ARCHITECTURE = "its extension in CUDA is built for the GPU that is there (by nvcc, of CUDA_HOME)"
# torch has the class under one name, the other, or both.
NO_DEVICE_MEMORY = getattr(torch, "OutOfMemoryError", None) or torch.cuda.OutOfMemoryError
MOST_MESSAGE = 4000
MOST_LOG = 6000
MOST_LINE = 300
MOST_FRAMES = 6
RAISES = (dis.opmap["RAISE_VARARGS"], dis.opmap["RERAISE"])
# gcc's and nvcc's "FILE:LINE:COLUMN: error: ", "FILE(LINE): error: ", and linkers' messages
COMPLAINT = re.compile(r"(\(\d+\)|:\d+(:\d+)?): ((fatal|catastrophic) )?error( #[-\w]+)?: |"
                       r"fatal error: |undefined reference to |multiple definition of |"
                       r"cannot find -l|undefined symbol: ")
MODULE = re.compile(r"[A-Za-z_][\w.]{0,99}", re.ASCII)
COMMAND = re.compile(r"\[\d+/\d+\] |FAILED: |ninja: ")


def plain(text, most):
    return str(text).encode("utf-8", "replace").decode("utf-8")[:most]


def compiler_said(text):
    """The part of a build's log that matters: its first error, the lines that lead to it, and
    what follows. Commands, which are long, are left out. None: there is no error."""
    lines = [line for line in text.splitlines()
             if not COMMAND.match(line) and len(line) <= 4 * MOST_LINE]
    found = [i for i, line in enumerate(lines) if COMPLAINT.search(line)]
    if not found:
        return None
    first = found[0]
    while first > 0 and lines[first - 1].endswith((":", ",")):
        first -= 1
    return plain("\n".join(line[:MOST_LINE] for line in lines[first:]), MOST_LOG)


def _complaints(said):
    """The messages of the errors only, in plain quotes."""
    said = said.replace("\u2018", "'").replace("\u2019", "'")
    lines = [line for line in said.splitlines() if COMPLAINT.search(line)]
    return "; ".join(re.sub(r"^.*?error( #[-\w]+)?: ", "error: ", line) for line in lines)


def _frames(error, path):
    """Frames of the source file, the innermost last."""
    found = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == path]
    if not found:
        return {}
    last = found[-1]
    return {"where": "line %d, in %s" % (last.lineno or 0, plain(last.name, 100)),
            "line": last.lineno or 0,
            "lines": [f.lineno or 0 for f in found[-MOST_FRAMES:]]}


def _of_triton(error):
    """The message of Triton's compiler about a kernel, without the kernel's text, and the
    source line that it is about. Triton raises such an error again in each calling function;
    the first one has the reason."""
    while isinstance(error.__cause__, type(error)):
        error = error.__cause__
    words = error.error_message or error.__cause__ or error
    node, text = error.node, error.src
    at = getattr(node, "lineno", 0)
    lines = text.splitlines() if isinstance(text, str) else []
    return plain(words, MOST_MESSAGE), lines[at - 1] if 0 < at <= len(lines) else ""


def _line_of(text, path):
    """The number of this line in the file if it occurs once, else 0."""
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            found = [i for i, line in enumerate(f, 1) if line.strip() == text.strip()]
    except OSError:
        return 0
    return found[0] if text.strip() and len(found) == 1 else 0


def _asks_architecture(error):
    """True if the build of a CUDA extension asked for the architecture of the device."""
    return any(frame.name == "_get_cuda_arch_flags"
               for frame in traceback.extract_tb(error.__traceback__))


def _lacks_gpu(error, message):
    """True if torch, triton or ctypes found no device. It is a claim: the broker checks whether
    the source names something that needs one."""
    if type(error).__module__.split(".")[0] not in ("builtins", "torch", "triton"):
        return False
    if _asks_architecture(error):
        return True
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None or not any(p in message for p in NEEDS_GPU):
        return False
    frame = last.tb_frame
    if frame.f_code.co_code[last.tb_lasti] not in RAISES:
        return True  # raised by torch's C++, which has no frame
    name = frame.f_globals.get("__name__")
    owner = sys.modules.get(name) if isinstance(name, str) else None
    return owner is not None and vars(owner) is frame.f_globals and \
        name.split(".")[0] in ("torch", "triton", "ctypes") and \
        frame.f_code.co_filename == getattr(owner, "__file__", None)


def _raised(error, path):
    """True if a statement of the source file raised it: `raise`, `assert`."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    code = last.tb_frame.f_code if last is not None else None
    return code is not None and code.co_filename == path and code.co_code[last.tb_lasti] in RAISES


def _reply(error, path, seen):
    """{type, message, where, line, lines, log, module, raised}; explain() adds memory and
    device. log: a compiler's, only before the process has had inputs. Later the compiler's errors
    are the message. module: one that is not installed."""
    reply = dict({"type": plain(type(error).__name__, 100), "message": plain(error, MOST_MESSAGE)},
                 **_frames(error, path))
    if isinstance(error, ModuleNotFoundError) and MODULE.fullmatch(str(error.name)):
        reply["module"] = error.name.split(".")[0]
    triton = sys.modules.get("triton.compiler.errors")
    if triton is not None and isinstance(error, triton.CompilationError):
        reply["message"], text = _of_triton(error)
        line = _line_of(text, path)
        if line:
            reply.update(line=line, where="line %d, in a kernel" % line)
            reply["lines"] = (reply.get("lines", []) + [line])[-MOST_FRAMES:]
        return reply
    said = compiler_said(str(error))
    if said is not None and seen:
        reply["message"] = plain(_complaints(said), MOST_MESSAGE)
    elif said is not None:
        reply["message"], reply["log"] = plain(error, MOST_LINE), said
    return reply


def _memory_of(error, message):
    """The memory that this exception says is exhausted, "device" or "host"; None: no class and no
    allocator says so. A class named OutOfMemoryError is a device's in other libraries, too."""
    if isinstance(error, (MemoryError, NO_DEVICE_MEMORY)):
        named = type(error).__name__ == "OutOfMemoryError"
        return "device" if named or isinstance(error, NO_DEVICE_MEMORY) else "host"
    if isinstance(error, RuntimeError):
        return next((whose for words, whose in OUT_OF_MEMORY.items() if words in message), None)
    return None


def _classify(error, reply):
    """memory: an exception of another class that is about memory, which neighbours may have taken.
    device: an error of the device. The broker reads these keys, never the message."""
    if any(words in reply["message"] for words in LACKS_MEMORY):
        reply["memory"] = "device"
    reply["device"] = type(error).__name__ == "AcceleratorError" or \
        any(words in reply["message"] for words in DEVICE_ERROR)


def explain(error, path, on_cpu, seen):
    """(status, reply) for an exception. seen: the process has had inputs or parameters."""
    message = plain(error, MOST_MESSAGE)
    if isinstance(error, source.BadSyntax):
        return wire.SYNTAX, {"message": message, "line": error.line, "column": error.column}
    simple = {source.NoEntry: wire.NO_ENTRY, module.BadState: wire.STATE,
              tensors.TooLarge: wire.TOO_LARGE, tensors.BadStructure: wire.BAD_STRUCTURE}
    if type(error) in simple:
        return simple[type(error)], {"message": message}
    reply = _reply(error, path, seen)
    memory = _memory_of(error, message)
    if memory:
        return wire.OUT_OF_MEMORY, dict(reply, memory=memory)
    _classify(error, reply)
    reply["raised"] = _raised(error, path)
    if on_cpu and _lacks_gpu(error, message):
        said = NO_ARCHITECTURE if _asks_architecture(error) else reply["message"]
        return wire.NEEDS_GPU, dict(reply, message=said)
    return wire.EXCEPTION, reply
