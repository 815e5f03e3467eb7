/*---kgym
name: conv_bias
level: 2
entry: conv_bias
desc: convolution, then a bias
dims: {n: 2, c: 8, groups: 4, h: 20, w: 21, kh: 3, kw: 5, y: 6,
       oh: h - kh + 1, ow: w - kw + 1}
where: [h >= kh, w >= kw, c % groups == 0]
args:
  - {name: x,     type: "f32[n,c,h,w]", role: in}
  - {name: k,     type: "f32[y,c/groups,kh,kw]", role: in, range: [-0.5, 0.5]}
  - {name: pick,  type: "i32[y]", role: in, range: [0, c]}
  - {name: out,   type: "f32[n,y,oh,ow]", role: out}
  - {name: h,     type: i64, role: dim}
  - {name: eps,   type: f32, role: param, value: 1e-5}
  - {name: half,  type: i32, role: param, value: h / 2}
reduce: c / groups * kh * kw
cost: {flops: 2*n*y*oh*ow*(c/groups)*kh*kw, bytes: 4*n*c*h*w}
laws: [-offset, -large, +heavy, bf16]
---*/
void conv_bias(void) {}
