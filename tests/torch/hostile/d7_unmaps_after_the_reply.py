# fixture
# entry: D7
# problem: relu
# what: a thread takes the memory of the answers away as soon as one is given
# expect: crash/exception crash/device crash/signal crash/exit out_of_memory/device timeout/tiny timeout/full
# gpu: yes: memory of the device that is shared with others
import ctypes
import sys
import threading
import time

import torch
import torch.nn as nn


def its_runner():
    """Who calls: the harness's, which knows where answers go; None elsewhere."""
    runner = sys.modules.get("kgym_harness.runner")
    frame = sys._getframe()
    while runner is not None and frame is not None:
        me = frame.f_locals.get("self")
        if isinstance(me, runner.Runner):
            return me
        frame = frame.f_back
    return None


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def take_away(self, runner, driver, context):
        wire, number, at, size = runner.wire, runner.number, ctypes.c_uint64(), ctypes.c_size_t()
        driver.cuCtxSetCurrent(context)
        while wire.done != number:
            time.sleep(0)
        driver.cuMemGetAddressRange_v2(ctypes.byref(at), ctypes.byref(size),
                                       ctypes.c_uint64(runner.place.output.address))
        driver.cuMemUnmap(at, size)

    def forward(self, x):
        self.calls += 1
        runner = its_runner() if self.calls == 3 else None
        if runner is not None:
            driver, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
            driver.cuCtxGetCurrent(ctypes.byref(context))
            threading.Thread(target=self.take_away, args=(runner, driver, context),
                             daemon=True).start()
        return torch.relu(x)
