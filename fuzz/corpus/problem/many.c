/*---kgym
name: t
level: 1
entry: t
dims: {m: 3, n: 4, k: 5, d1: 1, d2: 2, d3: 3, d4: 4, d5: 5, d6: 6, d7: 7, d8: 8, d9: 9, d10: 10, d11: 11, d12: 12, d13: 13}
cost: {flops: 1.0*m*n*k*d1*d2*d3*d4*d5*d6*d7*d8*d9*d10*d11*d12*d13}
args:
  - {name: a, type: "f32[m,k]", role: in}
  - {name: b, type: "f64[k,n]", role: in}
  - {name: c, type: "i64[m,n]", role: out}
---*/
