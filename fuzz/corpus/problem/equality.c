/*---kgym
name: t
level: 1
entry: t
dims: {m: 3, n: 4, k: 5}
where: [m * 2 == k + 1]
args:
  - {name: a, type: "f32[m,k]", role: in}
  - {name: b, type: "f64[k,n]", role: in}
  - {name: c, type: "i64[m,n]", role: out}
---*/
