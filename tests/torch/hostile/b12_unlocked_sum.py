# fixture
# entry: B12
# problem: row_sum
# what: two threads add into the same cells by reading, adding and storing
# expect: ok wrong/value wrong/nondeterministic crash/exception crash/device crash/signal timeout/tiny
#   timeout/full
# harmless: yes
# equal: reference
# varies: threads of one core seldom meet between a load and its store
# gpu: no
import threading

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.zeros((x.shape[0], 1), dtype=x.dtype, device=x.device)
        middle = x.shape[1] // 2

        def add(part):
            total = out + part.sum(dim=1, keepdim=True)
            out.copy_(total)

        both = [threading.Thread(target=add, args=(p,)) for p in (x[:, :middle], x[:, middle:])]
        for t in both:
            t.start()
        for t in both:
            t.join()
        return out
