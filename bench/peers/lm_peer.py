#!/usr/bin/env python3
"""The other side of bench_lm: the same model in PyTorch, f32, with as many threads. bench_lm starts it with the shape as
arguments and sends one word a line; each answer is one line with tokens a second.

    train           a step of AdamW on rows of one micro-batch: forward, cross entropy, backward, clip, step
    train-hf        the same with Qwen3ForCausalLM of transformers
    sample          generate() of transformers: batch, prompt and reply as bench_lm has them, temperature 1

The first line says what is there: `torch VERSION [transformers VERSION]`. Training in plain PyTorch: joined
projections, scaled_dot_product_attention, rms_norm and fused AdamW, which is what a careful user would write.
"""
import json
import sys
import time

shape = json.loads(sys.argv[1])
answers = sys.stdout
sys.stdout = sys.stderr  # what a library prints is no answer

import torch
import torch.nn.functional as F
from torch import nn

torch.set_num_threads(shape["threads"])
try:
    import transformers
    from transformers import Qwen3Config, Qwen3ForCausalLM
    transformers.logging.set_verbosity_error()
except ImportError:
    transformers = None

V, H, I, L, A, D = (shape[k] for k in ("vocab", "hidden", "inter", "layers", "heads", "head_dim"))
ROWS, LENGTH = shape["rows"], shape["length"]


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(H, eps=1e-6), nn.RMSNorm(H, eps=1e-6)
        self.q_norm, self.k_norm = nn.RMSNorm(D, eps=1e-6), nn.RMSNorm(D, eps=1e-6)
        self.qkv = nn.Linear(H, 3 * A * D, bias=False)
        self.o = nn.Linear(A * D, H, bias=False)
        self.gate_up = nn.Linear(H, 2 * I, bias=False)
        self.down = nn.Linear(I, H, bias=False)

    def forward(self, x, cos, sin):
        b, t, _ = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, A, D).permute(2, 0, 3, 1, 4)
        q, k = rotate(self.q_norm(q), cos, sin), rotate(self.k_norm(k), cos, sin)
        o = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(o.transpose(1, 2).reshape(b, t, A * D))
        gate, up = self.gate_up(self.norm2(x)).chunk(2, -1)
        return x + self.down(F.silu(gate) * up)


def rotate(x, cos, sin):
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat((-b, a), -1) * sin


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(V, H)
        self.layers = nn.ModuleList(Layer() for _ in range(L))
        self.norm = nn.RMSNorm(H, eps=1e-6)
        turn = torch.arange(LENGTH)[:, None] / 1e4 ** (torch.arange(0, D, 2) / D)
        turn = torch.cat((turn, turn), -1)
        self.register_buffer("cos", turn.cos())
        self.register_buffer("sin", turn.sin())

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x, self.cos, self.sin)
        return F.linear(self.norm(x), self.embed.weight)


def rows():
    n = torch.arange(ROWS)
    ids = (n * 7919 + n // 13) % V
    return ids.view(-1, LENGTH), ((ids * 31 + 7) % V).view(-1, LENGTH)


class Trainer:
    def __init__(self, model, logits):
        self.model, self.logits = model.train(), logits
        self.adam = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(.9, .95), weight_decay=.1, fused=True)
        self.ids, self.target = rows()

    def step(self):
        begin = time.perf_counter()
        z = self.logits(self.model, self.ids)
        F.cross_entropy(z.view(-1, V), self.target.view(-1)).backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.)
        self.adam.step()
        self.adam.zero_grad()
        return ROWS / (time.perf_counter() - begin)


def library_model():
    return Qwen3ForCausalLM(Qwen3Config(
        vocab_size=V, hidden_size=H, intermediate_size=I, num_hidden_layers=L, num_attention_heads=A,
        num_key_value_heads=A, head_dim=D, max_position_embeddings=512, tie_word_embeddings=True, rms_norm_eps=1e-6,
        bos_token_id=None, eos_token_id=None, pad_token_id=0)).float()


class Sampler:
    def __init__(self):
        self.model = library_model().eval()

    def step(self):
        groups, each = shape["samples"] // shape["each"], shape["each"]
        ids = (torch.arange(shape["prompt"])[None] * 13 + torch.arange(groups)[:, None] * 7) % V
        begin = time.perf_counter()
        with torch.inference_mode():
            out = self.model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=True, temperature=1., top_k=0,
                                      top_p=1., num_return_sequences=each, max_new_tokens=shape["reply"],
                                      use_cache=True)
        seconds = time.perf_counter() - begin
        drawn = out.shape[0] * (out.shape[1] - shape["prompt"])
        assert drawn == shape["samples"] * shape["reply"]
        return drawn / seconds


def main():
    made = {}
    makers = {"train": lambda: Trainer(Model(), lambda m, ids: m(ids))}
    if transformers is not None:
        makers["train-hf"] = lambda: Trainer(library_model(), lambda m, ids: m(ids, use_cache=False).logits)
        makers["sample"] = Sampler
    names = "torch " + torch.__version__ + (" transformers " + transformers.__version__ if transformers else "")
    print(names, file=answers, flush=True)
    for line in sys.stdin:
        word = line.strip()
        if word not in makers:
            print("none", file=answers, flush=True)
            continue
        if word not in made:
            made[word] = makers[word]()
            made[word].step()  # warm
        print("%.6g" % made[word].step(), file=answers, flush=True)


main()
