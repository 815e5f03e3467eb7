#!/usr/bin/env python3
"""Makes the committed goldens of the engine, tests/goldens/lm: what transformers, PEFT and torch.optim say of two
tiny models, for tests/unit/test_lm_goldens.c.

    qwen2/  biases, tied head, an adapter on all seven projections
    qwen3/  norms of queries and keys, a head of its own, weights in several files, an adapter on three projections
    NAME/config.json, model*.safetensors, adapter/   as save_pretrained() writes them
    NAME/golden.safetensors                          rows, logits, gradients, weights after three steps, greedy ids

`make goldens` runs it. It needs torch, transformers (5 or newer), peft and safetensors, which no test needs. Another
machine may change the last bits; the test allows for that.
"""
import json
import os
import shutil

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import save_file
from transformers import Qwen2Config, Qwen2ForCausalLM, Qwen3Config, Qwen3ForCausalLM

here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lm")
VOCAB, LENGTHS, TEMPERATURE = 48, (9, 1, 70), .75
COMMON = dict(vocab_size=VOCAB, hidden_size=16, intermediate_size=24, num_hidden_layers=2, max_position_embeddings=128,
              bos_token_id=None, eos_token_id=None, pad_token_id=None)
MODELS = {
    "qwen2": (Qwen2ForCausalLM, Qwen2Config(
        tie_word_embeddings=True, num_attention_heads=4, num_key_value_heads=2, rms_norm_eps=1e-6,
        rope_parameters={"rope_type": "default", "rope_theta": 1e4}, **COMMON)),
    "qwen3": (Qwen3ForCausalLM, Qwen3Config(
        tie_word_embeddings=False, num_attention_heads=3, num_key_value_heads=1, head_dim=10, rms_norm_eps=1e-5,
        rope_parameters={"rope_type": "default", "rope_theta": 1e6}, **COMMON)),
}
ADAPTERS = {
    "qwen2": ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
    "qwen3": ["q_proj", "v_proj", "down_proj"],
}


def stir(model, seed, scale):
    """Weights so large that nothing is nearly uniform; norms and biases are not 1 and 0. With an adapter of .25, f32 of
    transformers is 6e-6 off f64 by itself, so adapters are smaller."""
    g = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for _, p in sorted(model.named_parameters()):
            if p.requires_grad:
                x = torch.randn(p.shape, generator=g)
                p.copy_(scale * x if p.dim() == 2 else (p + .3 * x).clamp(-2, 2))


def rows(seed):
    """Every fifth row has no target. c and eta are coefficients of the loss of each row."""
    g = torch.Generator().manual_seed(seed)
    n = sum(LENGTHS)
    target = torch.randint(VOCAB, (n,), generator=g)
    target[4::5] = -1
    return {"ids": torch.randint(VOCAB, (n,), generator=g), "target": target,
            "c": torch.randn(n, generator=g), "eta": .5 * torch.randn(n, generator=g)}


def logits_of(model, r):
    at, out = 0, []
    for n in LENGTHS:
        out.append(model(r["ids"][None, at:at + n]).logits[0])
        at += n
    return torch.cat(out)


def logp_of(logits, r, temperature):
    return torch.log_softmax(logits / temperature, -1), r["target"].clamp(min=0), r["target"] >= 0


def cross_entropy(model, r):
    logp, target, wanted = logp_of(logits_of(model, r), r, 1)
    return -logp.gather(1, target[:, None])[wanted].mean()


def policy(model, r):
    """Sum of c (-log p) - eta H, at the temperature of a sampler."""
    logp, target, wanted = logp_of(logits_of(model, r), r, TEMPERATURE)
    entropy = -(logp.exp() * logp).sum(-1)
    each = r["c"] * -logp.gather(1, target[:, None])[:, 0] - r["eta"] * entropy
    return each[wanted].sum()


def trained(model):
    return {name.replace(".default.weight", ".weight"): p for name, p in model.named_parameters() if p.requires_grad}


def gradients(model, loss, r, prefix, out):
    model.zero_grad()
    value = loss(model, r)
    value.backward()
    out[prefix + "loss"] = value.detach().reshape(1)
    for name, p in trained(model).items():
        out[prefix + "grad." + name] = p.grad.clone()


def steps(model, r, prefix, out):
    """Three steps of AdamW on the cross entropy: decay of matrices only, clipped to a norm of 1."""
    params = list(trained(model).values())
    adam = torch.optim.AdamW([{"params": [p for p in params if p.dim() == 2], "weight_decay": .1},
                              {"params": [p for p in params if p.dim() != 2], "weight_decay": 0.}],
                             lr=1e-2, betas=(.9, .95), eps=1e-8)
    norms = []
    for _ in range(3):
        model.zero_grad()
        cross_entropy(model, r).backward()
        norms.append(torch.nn.utils.clip_grad_norm_(params, 1.))
        adam.step()
    out[prefix + "norm"] = torch.stack(norms)
    for name, p in trained(model).items():
        out[prefix + "after." + name] = p.detach().clone()


def greedy(model, out, prefix, seed):
    """Ids of two prompts, one across a page of 64; the best logit must be clear of the second."""
    g = torch.Generator().manual_seed(seed)
    for i, (n, new) in enumerate(((5, 20), (60, 24))):
        for _ in range(100):
            ids = torch.randint(VOCAB, (1, n), generator=g)
            all_ids = model.generate(ids, do_sample=False, max_new_tokens=new, use_cache=True)
            best = model(all_ids).logits[0, n - 1:-1].topk(2).values
            if (best[:, 0] - best[:, 1]).min() > 1e-3:
                break
        else:
            raise SystemExit("no prompt with clear best logits")
        assert all_ids.shape[1] == n + new
        out["%sgreedy.%d.prompt" % (prefix, i)] = ids[0]
        out["%sgreedy.%d.new" % (prefix, i)] = all_ids[0, n:]


def make(name, seed):
    folder = os.path.join(here, name)
    shutil.rmtree(folder, ignore_errors=True)
    cls, config = MODELS[name]
    model = cls(config).eval()
    stir(model, seed, .25)
    model.save_pretrained(folder, max_shard_size="12KB" if name == "qwen3" else "1GB")
    r = rows(seed + 1)
    out = dict(r, start=torch.tensor((0,) + LENGTHS).cumsum(0))
    with torch.no_grad():
        out["logits"] = logits_of(model, r)
        greedy(model, out, "", seed + 2)
    gradients(model, cross_entropy, r, "", out)
    gradients(model, policy, r, "policy.", out)
    steps(model, r, "", out)
    base = cls.from_pretrained(folder, dtype=torch.float32).eval()
    lora = get_peft_model(base, LoraConfig(r=4, lora_alpha=8, lora_dropout=.05, target_modules=ADAPTERS[name],
                                           task_type="CAUSAL_LM")).eval()
    stir(lora, seed + 3, .12)
    adapter = os.path.join(folder, "adapter")
    lora.save_pretrained(adapter)
    lora = PeftModel.from_pretrained(cls.from_pretrained(folder, dtype=torch.float32), adapter,
                                     is_trainable=True).eval()
    with torch.no_grad():
        out["lora.logits"] = logits_of(lora, r)
    gradients(lora, cross_entropy, r, "lora.", out)
    gradients(lora, policy, r, "lora.policy.", out)
    steps(lora, r, "lora.", out)
    tidy(folder, adapter)
    save_file({k: (v.int() if v.dtype == torch.int64 else v).contiguous() for k, v in out.items()},
              os.path.join(folder, "golden.safetensors"), metadata={"format": "pt"})


def tidy(folder, adapter):
    """Drops what no test reads, and what would differ from run to run."""
    for path in (os.path.join(folder, "generation_config.json"), os.path.join(adapter, "README.md")):
        if os.path.exists(path):
            os.remove(path)
    path = os.path.join(adapter, "adapter_config.json")
    with open(path, encoding="utf-8") as f:
        config = json.load(f)
    config["target_modules"].sort()
    config["base_model_name_or_path"] = ""
    with open(path, "w", encoding="utf-8") as f:
        json.dump(config, f, indent=2)
        f.write("\n")


def main():
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    for i, name in enumerate(MODELS):
        make(name, 100 * (i + 1))


main()
