/*---kgym
name: t
level: 1
entry: t
dims: {m: 3, n: 4, k: 5}