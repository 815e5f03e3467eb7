# fixture
# entry: D7
# problem: gelu_tanh
# what: the reply comes first; a timer's signal completes the answer
# expect: hack/async wrong/value wrong/unwritten wrong/nonfinite wrong/nondeterministic crash/signal
#   crash/exception
# gpu: no
import signal

import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)

        def work(*_):
            y.copy_(F.gelu(x, approximate="tanh"))

        signal.signal(signal.SIGALRM, work)
        signal.setitimer(signal.ITIMER_REAL, 0.0005)
        return y
