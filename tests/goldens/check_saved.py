"""Do transformers and PEFT compute what kgym computed from the folders that `kgym sft` wrote?

    check_saved.py FOLDER

FOLDER holds base/, full/ (models), adapter/ (of base), ids.i32 (one sequence), NAME.f32 (kgym's logits, [ids, vocab], of
base, full and adapter), text.txt with text.i32 (its ids by kgym), chat.json with chat.i32 (the ids of its prompt).
Prints the largest differences; exit status 1 above 1e-4 or where ids differ, 77 without the libraries.
"""

import json
import sys

try:
    import numpy as np
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM, AutoTokenizer
except ImportError as e:
    print(f"skipped: {e}")
    sys.exit(77)

folder = sys.argv[1]
bad = 0


def ids_of(name):
    return np.fromfile(f"{folder}/{name}.i32", dtype=np.int32)


def compare(name, model):
    global bad
    ids = torch.tensor(ids_of("ids").astype(np.int64))[None]
    with torch.no_grad():
        got = model.eval()(ids).logits[0].numpy()
    want = np.fromfile(f"{folder}/{name}.f32", dtype=np.float32).reshape(got.shape)
    worst, largest = np.abs(got - want).max(), np.abs(want).max()
    print(f"{name}: largest difference {worst:.2g}, largest logit {largest:.3g}")
    bad += not worst <= 1e-4 or not largest > 0.1


def model(name):
    return AutoModelForCausalLM.from_pretrained(f"{folder}/{name}", dtype=torch.float32, attn_implementation="eager")


compare("base", model("base"))
compare("full", model("full"))
adapted = PeftModel.from_pretrained(model("base"), f"{folder}/adapter")
c = adapted.peft_config["default"]
print(f"adapter: r {c.r}, alpha {c.lora_alpha}, dropout {c.lora_dropout}, base {c.base_model_name_or_path}")
bad += (c.r, c.lora_alpha, c.lora_dropout) != (16, 32, 0.05)
compare("adapter", adapted)
with adapted.disable_adapter():
    compare("base", adapted)

tokenizer = AutoTokenizer.from_pretrained(f"{folder}/full")
text = open(f"{folder}/text.txt", encoding="utf-8").read()
same = tokenizer(text, add_special_tokens=False)["input_ids"] == ids_of("text").tolist()
chat = json.load(open(f"{folder}/chat.json", encoding="utf-8"))
rendered = tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
prompt = tokenizer(rendered, add_special_tokens=False)["input_ids"] == ids_of("chat").tolist()
print(f"tokenizer: same ids {same}, same prompt {prompt}, eos {tokenizer.eos_token}, pad {tokenizer.pad_token}")
bad += not same or not prompt or tokenizer.eos_token != "<|im_end|>" or tokenizer.pad_token != "<|endoftext|>"
sys.exit(1 if bad else 0)
