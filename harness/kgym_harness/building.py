"""Triton's compiler, with less waiting: for a GPU only. A process's first kernel takes 1 s to
compile and its second 0.1, so the zygote compiles one; the C module of driver calls, 0.2 s, is the
zygote's, too; the small C modules that call a kernel are compiled with -O1 instead of -O3, 0.1 s
instead of 0.3; and while a runner compiles, or draws on the host, the device is others'
(wire.building)."""

import contextlib
import functools
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading

from . import wire


def quick(name, source, folder, library_folders, include_folders, libraries, *flags):
    """triton.knobs.build.impl: as Triton's own, at another level of optimisation."""
    scheme = sysconfig.get_default_scheme()
    scheme = "posix_prefix" if scheme == "posix_local" else scheme
    target = os.path.join(folder, name + sysconfig.get_config_var("EXT_SUFFIX"))
    compiler = os.environ.get("CC") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise RuntimeError("there is no C compiler, which Triton needs")
    include = list(include_folders) + [folder, sysconfig.get_paths(scheme=scheme)["include"]]
    subprocess.check_call(
        [compiler, source, "-O1", "-shared", "-fPIC", "-Wno-psabi", "-o", target] +
        ["-l:" + n if ".so" in n or n.endswith(".a") else "-l" + n for n in libraries] +
        ["-L" + f for f in library_folders] + ["-I" + f for f in include if f is not None] +
        [f for group in flags for f in group], stdout=subprocess.DEVNULL)
    return target


def _compile_one():
    """For a device that need not be there: what is kept is Triton's own set-up."""
    import triton
    from triton.backends.compiler import GPUTarget
    from . import kernel
    source = triton.compiler.ASTSource(
        fn=kernel.double, signature={"x": "*fp32", "n": "i32", "SIZE": "constexpr"},
        constexprs={"SIZE": 128})
    triton.compile(source, target=GPUTarget("cuda", 90, 32))


def _load_utils():
    """Its module of driver calls is built and loaded, and calls none yet. Each driver object asks
    for it anew, in a process whose cache is empty: from now on it is the one that is there."""
    import triton
    triton.knobs.build.impl = quick
    from triton.backends.nvidia.driver import CudaUtils
    CudaUtils()
    CudaUtils.__init__ = lambda self: None


def _do(step):
    """What this Triton lacks, a candidate's own process does as ever."""
    old = os.environ.get("TRITON_CACHE_DIR")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TRITON_CACHE_DIR"] = folder
        try:
            step()
        except Exception as error:
            print("kgym: zygote: %s: %s" % (step.__name__, error), file=sys.stderr)
        os.environ.pop("TRITON_CACHE_DIR")
        if old is not None:
            os.environ["TRITON_CACHE_DIR"] = old


def chores():
    """For the zygote: 1 s altogether, in parts of less."""
    return [functools.partial(_do, step) for step in (_compile_one, _load_utils)]


class Manners:
    """Says in the control block when this process does without the device (it compiles, or draws
    inputs on the host), and waits for its turn before it goes on. Only in calls that ask for it:
    else nobody would answer."""

    def __init__(self, probe, block, base):
        self.probe, self.wire = probe, block
        self.word = base + wire.Wire.building.offset
        self.lock, self.depth = threading.Lock(), 0

    @contextlib.contextmanager
    def without_device(self):
        asked = bool(self.wire.flags & wire.POLITE)
        if asked:
            with self.lock:
                self.depth += 1
                self.wire.building = wire.BUSY
        try:
            yield
        finally:
            if asked:
                with self.lock:
                    self.depth -= 1
                    last = self.depth == 0
                if last:
                    self.wire.building = wire.WAITS
                    self.probe.wait(self.word, wire.WAITS)

    def teach(self):
        """Where Triton compiles a kernel, and the module that launches it."""
        try:
            import triton.compiler
            from triton.backends.nvidia import driver
            self._wrap(triton.compiler, "compile")
            self._wrap(driver.CudaLauncher, "__init__")
        except Exception:
            pass

    def _wrap(self, owner, name):
        old = getattr(owner, name)

        def polite(*args, **kwargs):
            with self.without_device():
                return old(*args, **kwargs)
        setattr(owner, name, polite)
