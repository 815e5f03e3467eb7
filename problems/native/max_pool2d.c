/*---kgym
name: max_pool2d
level: 1
entry: max_pool2d
desc: "largest element of every k x k window, windows stride apart, no padding, of each plane"
dims: {planes: 96, h: 64, w: 56, k: 3, stride: 2, oh: (h - k) / stride + 1, ow: (w - k) / stride + 1}
where: ["h >= k", "w >= k"]
args:
  - {name: x,      type: "f32[planes,h,w]",   role: in}
  - {name: y,      type: "f32[planes,oh,ow]", role: out}
  - {name: planes, type: i64, role: dim}
  - {name: h,      type: i64, role: dim}
  - {name: w,      type: i64, role: dim}
  - {name: k,      type: i64, role: dim}
  - {name: stride, type: i64, role: dim}
reduce: 1
cost: {flops: "planes * oh * ow * k * k", bytes: "4 * planes * (h * w + oh * ow)"}
---*/
#include "kgops.h"

void max_pool2d(const real *x, real *y, int64_t planes, int64_t h, int64_t w, int64_t k,
                int64_t stride)
{
    kgops_max_pool2d(x, y, planes, h, w, k, stride);
}
