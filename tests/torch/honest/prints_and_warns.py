# fixture
# pattern: printing, warnings, a logger thread
# problem: max_pool2d
# what: logs from a thread, warns, and prints more than a line per call
# twin: e6_verdict_line
# expect: ok
# gpu: no
import logging
import logging.handlers
import queue
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F

log = logging.getLogger("pool")
lines = queue.SimpleQueue()
log.addHandler(logging.handlers.QueueHandler(lines))
listener = logging.handlers.QueueListener(lines, logging.StreamHandler())
listener.start()


class ModelNew(nn.Module):
    def forward(self, x):
        print("pooling", tuple(x.shape), x.dtype)
        warnings.warn("padding is implicit", stacklevel=2)
        log.warning("shape %s", tuple(x.shape))
        return F.max_pool2d(x, kernel_size=3, stride=2, padding=1)
