"""Does transformers compute what a run of `kgym train` computed with its last weights?

    check_run.py RUN

Takes replies of the evaluation after RL from RUN/trajectories.jsonl and computes the log-probabilities of their tokens
with RUN/checkpoint. The tokenizer of the checkpoint must give each reply's text from its tokens. Prints the largest
difference; exit status 1 above 1e-4 or where a text differs, 77 without the libraries.
"""

import json
import sys

try:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
except ImportError as e:
    print(f"skipped: {e}")
    sys.exit(77)

REPLIES = 40
run = sys.argv[1]
model = AutoModelForCausalLM.from_pretrained(f"{run}/checkpoint", dtype=torch.float32, attn_implementation="eager")
tokenizer = AutoTokenizer.from_pretrained(f"{run}/checkpoint")
worst, tokens, replies, texts = 0.0, 0, 0, True
for line in open(f"{run}/trajectories.jsonl", encoding="utf-8"):
    talk = json.loads(line)
    if not talk["id"].startswith("eval-after") or replies >= REPLIES:
        continue
    seen = []
    for turn in talk["turns"]:
        seen += turn["extra"]["context"]  # what came since the last reply
        ids = turn["extra"]["ids"]
        with torch.no_grad():
            logits = model.eval()(torch.tensor([seen + ids])).logits[0]
        logp = torch.log_softmax(logits[len(seen) - 1 : -1], -1)[range(len(ids)), ids]
        worst = max(worst, (logp - torch.tensor(turn["extra"]["logp"])).abs().max().item())
        texts = texts and tokenizer.decode(ids, skip_special_tokens=True) == turn["reply"]
        seen += ids
        tokens += len(ids)
        replies += 1
print(f"{replies} replies, {tokens} tokens: largest difference {worst:.2g}, same texts: {texts}")
sys.exit(0 if replies > 0 and worst <= 1e-4 and texts else 1)
