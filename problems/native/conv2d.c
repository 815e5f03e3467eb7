/*---kgym
name: conv2d
level: 1
entry: conv2d
desc: "cross-correlation of images [batch, cin, h, w] with weight, stride 1, no padding, plus bias"
dims: {batch: 2, cin: 8, h: 34, w: 40, cout: 16, kh: 3, kw: 3, oh: h - kh + 1, ow: w - kw + 1}
where: ["h >= kh", "w >= kw"]
args:
  - {name: x,      type: "f32[batch,cin,h,w]",    role: in}
  - {name: weight, type: "f32[cout,cin,kh,kw]",   role: in}
  - {name: bias,   type: "f32[cout]",             role: in}
  - {name: y,      type: "f32[batch,cout,oh,ow]", role: out}
  - {name: batch,  type: i64, role: dim}
  - {name: cin,    type: i64, role: dim}
  - {name: h,      type: i64, role: dim}
  - {name: w,      type: i64, role: dim}
  - {name: cout,   type: i64, role: dim}
  - {name: kh,     type: i64, role: dim}
  - {name: kw,     type: i64, role: dim}
reduce: cin * kh * kw
cost:
  flops: "2 * batch * cout * oh * ow * cin * kh * kw"
  bytes: "4 * (batch * cin * h * w + cout * cin * kh * kw + cout + batch * cout * oh * ow)"
---*/
#include "kgops.h"

void conv2d(const real *x, const real *weight, const real *bias, real *y, int64_t batch, int64_t cin,
            int64_t h, int64_t w, int64_t cout, int64_t kh, int64_t kw)
{
    kgops_conv2d(x, weight, y, batch, cin, h, w, cout, kh, kw);
    kgops_add_channels(y, bias, y, batch, cout, (h - kh + 1) * (w - kw + 1));
}
