"""The place of a runner's tensors on the CPU: mapped memory. kgym_harness.cuda is the other
place; both have the same methods."""

import contextlib
import resource
import time

from . import tensors, wire


class Host:
    def __init__(self, probe, block, device):
        del block
        self.device, self.fresh = device, False
        self.input = tensors.Region(*probe.map(1, wire.FD_IN), device)
        self.output = tensors.Region(*probe.map(2, wire.FD_OUT), device)

    def renewed(self):
        """Called after a change of module, parameters or inputs."""

    def bound(self, where):
        """Tells where the inputs lie: offset, dtype, shape and strides of each."""

    def settle_in(self):
        """Treats the module as called on these inputs."""

    def around_call(self, wide, usual=True):
        """A context around a call of the module."""
        del wide, usual
        return contextlib.nullcontext()

    def room(self):
        """What begins an answer in OUT (tensors.Region.filling), where nothing lies there."""
        return self.output.filling

    def as_caller(self):
        """A context around a call and the copy of its answer: as in a plain PyTorch program."""
        return contextlib.nullcontext()

    def come_late(self, inputs):
        """The inputs come when the call has begun."""

    def returned(self):
        """A call has returned."""

    def the_callers(self):
        """The call has returned: what follows runs where its caller runs."""

    def hold_back(self, base, number):
        """Makes the device hold back what is launched until a command is released. False: it
        cannot."""
        del base, number
        return False

    def rehearse(self):
        """Does those parts of a call that can be done before it."""

    def finish(self, base, number, begun):
        """Waits for the device; the answer stands in the control block. True: the time of the
        wait was noted as well, and the answer is posted."""
        del base, number, begun
        return False

    def rest(self):
        """Called between calls."""

    def spare(self):
        """Gives memory back that is kept for later calls."""

    def settle(self):
        """Waits until no work of earlier calls is running."""

    def null(self):
        """A call of the null runner."""

    def plain(self):
        """From now on calls run as in a plain PyTorch program."""

    def times(self, module, inputs, warmups, discard, trials):
        """Nanoseconds of each call by this process's own clock, and the last answer. A CPU
        needs no kernels."""
        for _ in range(warmups):
            module(*inputs)
        found = []
        for _ in range(discard + trials):
            begin = time.perf_counter_ns()
            last = module(*inputs)
            found.append(time.perf_counter_ns() - begin)
        return found[discard:], last

    def peak_bytes(self):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
