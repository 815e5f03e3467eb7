"""Makes Triton's compiler faster, on a GPU only.

A process's first kernel takes 1 s to compile and its second 0.1 s, so the zygote compiles one.
The C module of driver calls takes 0.2 s, so the zygote builds it too. The small C modules that
launch a kernel are compiled with -O1 instead of -O3, which takes 0.1 s instead of 0.3 s. While
a runner compiles, or draws on the host, others may use the device (wire.building).
"""

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
    """A replacement for triton.knobs.build.impl: the same with another level of optimisation."""
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
    """Compiles one kernel, for a device that need not exist. What stays is Triton's own set-up."""
    import triton
    from triton.backends.compiler import GPUTarget
    from . import kernel
    source = triton.compiler.ASTSource(
        fn=kernel.double, signature={"x": "*fp32", "n": "i32", "SIZE": "constexpr"},
        constexprs={"SIZE": 128})
    triton.compile(source, target=GPUTarget("cuda", 90, 32))


def _load_utils():
    """Builds and loads Triton's module of driver calls; none is called yet. Each driver object
    would load it again, in a process whose cache is empty, so from now on the loaded one is
    used."""
    import triton
    triton.knobs.build.impl = quick
    from triton.backends.nvidia.driver import CudaUtils
    CudaUtils()
    CudaUtils.__init__ = lambda self: None


def _do(step):
    """Runs one step. If this version of Triton does not allow it, a candidate's own process
    does the work as usual."""
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
    """Steps for the zygote: 1 s in all, in shorter parts."""
    return [functools.partial(_do, step) for step in (_compile_one, _load_utils)]


class DeviceSharing:
    """Tells in the control block when this process does not need the device, because it
    compiles or draws inputs on the host. Then it waits for its turn. It does so only in calls
    with the flag POLITE, because otherwise no process would answer."""

    def __init__(self, probe, block, base):
        self.probe, self.wire = probe, block
        self.word = base + wire.Wire.building.offset
        self.lock, self.depth = threading.Lock(), 0

    def next_turn(self):
        """Waits for its turn before it goes on with its start, whose context is made: others who
        wait for that may use the device first."""
        self.probe.post(self.word, wire.WAITS)
        self.probe.wait(self.word, wire.WAITS)

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

    def wrap_triton(self):
        """Wraps the functions in which Triton compiles a kernel, and the module that launches
        it."""
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
