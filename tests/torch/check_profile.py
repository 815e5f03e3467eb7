"""Whose a Triton kernel is, by its file, and that launches are labelled so: kgym_harness.profile
without a device. Run by tests/unit/test_torch_coverage.c with the harness on PYTHONPATH."""

import os
import sys
import types

import torch

from kgym_harness import profile

folders = profile.library_folders()
packages = os.path.dirname(os.path.dirname(os.path.abspath(torch.__file__)))
for path, want in (("/kgym/source.py", profile.OWN), ("/tmp/mine/kernels.py", profile.OWN),
                   ("<string>", profile.OWN), (packages + "/flash/kernels.py", profile.LIBRARY),
                   (os.__file__, profile.LIBRARY), ("/usr/lib/x.py", profile.LIBRARY),
                   ("/tmp/inductor/ab/cab.py", profile.COMPILER),
                   ("/tmp/torchinductor_me/ab/cab.py", profile.COMPILER)):
    got = profile.owner_of(path, folders, ["/tmp/inductor"])
    assert got == want, (path, got, want)
assert "/" not in folders and "/tmp" not in folders


class Labels:
    """The probe's, of one thread."""

    def __init__(self):
        self.now = profile.UNKNOWN

    def kg_prof_label(self, label):
        before, self.now = self.now, label
        return before

    def kg_prof_compiled(self, folder):
        compiled.append(folder)


class Launcher:
    def __init__(self, path=None):
        self.path = path

    @property
    def fn(self):
        return types.SimpleNamespace(__code__=types.SimpleNamespace(co_filename=self.path))

    def run(self, inner=None, fail=False):
        seen.append(labels.now)
        if inner is not None:
            inner.run()
            seen.append(labels.now)
        if fail:
            raise ValueError


class Autotuner(Launcher):
    run = Launcher.run


class Jitted:
    def __call__(self, x):
        seen.append(labels.now)
        return x


seen, compiled, labels = [], [], Labels()
os.environ["TORCHINDUCTOR_CACHE_DIR"] = "/tmp/inductor"
watch = object.__new__(profile.Watch)
watch.lib, watch.folders, watch.compiled, watch.wrapped = labels, folders, [], set()
sys.modules["triton.runtime.jit"] = types.SimpleNamespace(JITFunction=Launcher)
watch.wrap()
name = "torch._inductor.runtime.triton_heuristics"
sys.modules[name] = types.SimpleNamespace(CachingAutotuner=Autotuner)  # imported later
watch.wrap()
sys.modules["torch.cuda.jiterator"] = types.SimpleNamespace(_JittedFunction=Jitted)
os.environ["TORCHINDUCTOR_CACHE_DIR"] = "/tmp/../tmp/elsewhere"  # from now on
watch.wrap()
watch.wrap()  # once is enough
assert compiled == [b"/tmp/inductor", b"/tmp/elsewhere"], compiled
Launcher("/kgym/source.py").run(inner=Launcher(packages + "/x.py"))
Autotuner().run()
try:
    Launcher("/kgym/source.py").run(fail=True)
except ValueError:
    pass
assert Jitted()(3) == 3
assert seen == [profile.OWN, profile.LIBRARY, profile.OWN, profile.COMPILER, profile.OWN,
                profile.JITTED], seen
assert labels.now == profile.UNKNOWN

idle = profile.Idle()
with idle.window():
    pass
try:
    idle.take()
    raise AssertionError("nothing is recorded there")
except RuntimeError:
    pass
assert profile.Blind("no library").take() == {"error": "no library"}
print("profile: ok")
