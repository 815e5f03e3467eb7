# fixture
# entry: B10
# problem: range_of_rows
# what: negates the input to use one reduction twice, then negates it back
# expect: wrong/input_modified crash/signal
# ongpu: ok
# harmless: yes
# equal: range_of_rows.fast
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        high, at = torch.max(x, dim=1)
        x.neg_()
        low = -torch.amax(x, dim=1)
        x.neg_()
        return {"low": low, "high": high, "at": at}
