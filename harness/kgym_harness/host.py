"""Where a runner's tensors live, on the CPU: mapped memory. kgym_harness.cuda is the other place;
both have the same parts."""

import contextlib
import resource
import time

from . import tensors, wire


class Host:
    def __init__(self, probe, block, device):
        del block
        self.device = device
        self.input = tensors.Region(*probe.map(1, wire.FD_IN), device)
        self.output = tensors.Region(*probe.map(2, wire.FD_OUT), device)

    def renewed(self):
        """Another module, other parameters or other inputs."""

    def bound(self, where):
        """Inputs lie there: offset, dtype and shape of each."""

    def settle_in(self):
        """As if it had been called on them."""

    def around_call(self, wide):
        """Entered round a call of the module."""
        del wide
        return contextlib.nullcontext()

    def rehearse(self):
        """What can be done of a call before it is one."""

    def finish(self, base, number, begun):
        """The answer stands in the control block: wait for the device. True: it was said how long
        that took, too, and the answer is posted."""
        del base, number, begun
        return False

    def rest(self):
        """Between calls."""

    def settle(self):
        """Until nothing that was called for is still running."""

    def null(self):
        """The null candidate."""

    def plain(self):
        """Calls as a plain PyTorch program makes them."""

    def times(self, module, inputs, warmups, discard, trials):
        """Nanoseconds of each call, by this process's own clock: no kernel is written for a CPU.
        And the last answer."""
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
