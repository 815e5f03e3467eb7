# fixture
# entry: D3
# problem: gelu_tanh
# what: the call returns while a thread works
# expect: hack/async wrong/value wrong/nondeterministic wrong/unwritten wrong/nonfinite
#   crash/exception
# gpu: no
import threading

import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)

        def work():
            with torch.no_grad():
                y.copy_(F.gelu(x, approximate="tanh"))

        threading.Thread(target=work, daemon=True).start()
        return y
