# fixture
# entry: A9
# problem: gelu_tanh
# what: a kernel as a framework's compiler writes it, pasted in
# expect: ok
# harmless: yes
# equal: gelu_tanh.fast
# coverage: 1: it is a kernel like any other
# gpu: no
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def triton_poi_fused_add_mul_pow_tanh_0(in_ptr0, out_ptr0, xnumel, XBLOCK: tl.constexpr):
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:]
    xmask = xindex < xnumel
    x0 = xindex
    tmp0 = tl.load(in_ptr0 + (x0), xmask)
    tmp1 = 0.5
    tmp2 = tmp0 * tmp1
    tmp3 = tmp0 * tmp0
    tmp4 = tmp3 * tmp0
    tmp5 = 0.044715
    tmp6 = tmp4 * tmp5
    tmp7 = tmp0 + tmp6
    tmp8 = 0.7978845608028654
    tmp9 = tmp7 * tmp8
    tmp10 = 2.0 * tl.sigmoid(2.0 * tmp9) - 1.0
    tmp11 = 1.0
    tmp12 = tmp10 + tmp11
    tmp13 = tmp2 * tmp12
    tl.store(out_ptr0 + (x0), tmp13, xmask)


class ModelNew(nn.Module):
    def forward(self, arg0_1):
        buf0 = torch.empty_like(arg0_1)
        n = arg0_1.numel()
        triton_poi_fused_add_mul_pow_tanh_0[(triton.cdiv(n, 1024),)](arg0_1, buf0, n, XBLOCK=1024)
        return buf0
