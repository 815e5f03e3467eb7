# fixture
# pattern: a dict in another order of computation
# problem: range_of_rows
# what: one aminmax, then the place of the greatest
# twin: b14_list_for_dict
# expect: ok
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        low, high = torch.aminmax(x, dim=1)
        at = (x == high[:, None]).to(torch.uint8).argmax(dim=1)
        at = torch.where(high.isnan(), x.isnan().to(torch.uint8).argmax(dim=1), at)
        return {"low": low, "high": high, "at": at}
