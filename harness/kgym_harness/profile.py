"""Launch records of this runner (src/probe/profile.h). They are started before code of the
candidate runs, in the runners of the stage `profile` only.

A Triton kernel belongs to the file of its source. Triton's own `run` is wrapped, and tells the
probe whose launches follow. Launches by Inductor, and kernels in its folder, belong to the
compiler. Text that is given to torch's jiterator is the candidate's. Everything here is a
claim.
"""

import contextlib
import ctypes as c
import functools
import json
import os
import sys

import torch

UNKNOWN, OWN, LIBRARY, COMPILER, JITTED = range(5)
MOST_REPLY = 90 << 10
SYSTEM = ("/usr", "/lib", "/lib64", "/opt")


def library_folders():
    """Folders whose files no candidate has written."""
    found = [sys.prefix, sys.base_prefix, sys.exec_prefix] + [p for p in sys.path if p] + \
        [os.path.dirname(os.path.dirname(os.path.abspath(torch.__file__)))]
    return sorted({os.path.abspath(p) for p in found} - {"/", "/tmp"} | set(SYSTEM))


def owner_of(path, folders, compiled=()):
    """The class of a Triton function by the file of its source. compiled: folders that Inductor
    writes to."""
    if "torchinductor" in path or any(path.startswith(f + "/") for f in compiled):
        return COMPILER
    path = os.path.abspath(path) if os.sep in path else path
    return LIBRARY if any(path.startswith(f + "/") for f in folders) else OWN


class Idle:
    """A runner that is not profiled."""

    @staticmethod
    def window():
        return contextlib.nullcontext()

    def suppress(self, names):
        raise RuntimeError("this runner is not profiled")

    def take(self):
        self.suppress(())


class Blind(Idle):
    """A runner that should be profiled but cannot be."""

    def __init__(self, why):
        self.why = why

    def suppress(self, names):
        if names:
            raise RuntimeError(self.why)

    def take(self):
        return {"error": self.why}


class Watch:
    def __init__(self, probe, device):
        self.lib, self.device = probe.lib, device
        self.lib.kg_prof_open.argtypes = self.lib.kg_prof_suppress.argtypes = [c.c_char_p]
        self.lib.kg_prof_compiled.argtypes, self.lib.kg_prof_compiled.restype = [c.c_char_p], None
        self.lib.kg_prof_error.restype = c.c_char_p
        self.lib.kg_prof_take.argtypes = [c.c_char_p, c.c_size_t]
        self.lib.kg_prof_take.restype = c.c_long
        self.folders = library_folders()
        if self.lib.kg_prof_open(":".join(self.folders).encode()) != 0:
            raise RuntimeError(self.lib.kg_prof_error().decode("utf-8", "replace"))
        self.compiled = []
        self.wrapped = set()
        self.note_compiled()

    def suppress(self, names):
        self.lib.kg_prof_suppress(None)
        for name in names:
            if self.lib.kg_prof_suppress(name.encode("utf-8", "replace")) != 0:
                raise ValueError("too many kernels at once")

    def take(self):
        text = c.create_string_buffer(MOST_REPLY)
        if self.lib.kg_prof_take(text, len(text)) < 0:
            raise ValueError("too many kernels")
        return json.loads(text.value.decode("utf-8", "replace"))

    @contextlib.contextmanager
    def window(self):
        self.wrap()
        self.lib.kg_prof_begin()
        try:
            yield
        finally:
            torch.cuda.synchronize(self.device)
            self.lib.kg_prof_end()

    def note_compiled(self):
        """Notes the folder that Inductor writes to now; a candidate may choose another one."""
        folder = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
        if folder and os.path.abspath(folder) not in self.compiled:
            self.compiled.append(os.path.abspath(folder))
            self.lib.kg_prof_compiled(self.compiled[-1].encode())

    def wrap(self):
        """Wraps those launchers of Triton, Inductor and the jiterator that are loaded by now."""
        self.note_compiled()
        self._wrap("triton.runtime.jit", "JITFunction", "run", self._of_function)
        self._wrap("torch._inductor.runtime.triton_heuristics", "CachingAutotuner", "run",
                   lambda _: COMPILER)
        self._wrap("torch.cuda.jiterator", "_JittedFunction", "__call__", lambda _: JITTED)

    def _of_function(self, function):
        return owner_of(function.fn.__code__.co_filename, self.folders, self.compiled)

    def _wrap(self, module, name, method, owner):
        found = getattr(sys.modules.get(module), name, None)
        if found is None or found in self.wrapped:
            return
        self.wrapped.add(found)
        run, label = getattr(found, method), self.lib.kg_prof_label

        @functools.wraps(run)
        def labelled(this, *args, **kwargs):
            before = label(owner(this))
            try:
                return run(this, *args, **kwargs)
            finally:
                label(before)
        setattr(found, method, labelled)
