#!/usr/bin/env python3
"""Makes the committed goldens of the tokenizer and of the file formats: tests/goldens/tok and tests/goldens/io.

Needs the packages tokenizers, safetensors and transformers (5 or newer), which no test needs:
    python3 -m venv V && V/bin/pip install tokenizers safetensors transformers
    V/bin/python tests/goldens/make_tokenizer_goldens.py [--templates DIR]
DIR holds the chat templates of the model makers, qwen25.jinja and qwen3.jinja (chat_template of a model's
tokenizer_config.json). Without it chat.jsonl stays as it is. The same packages give the same files.
"""
import argparse
import ctypes
import json
import os
import random
import re
import struct
import tempfile
import unicodedata

from safetensors import TensorSpec, serialize_file
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

here = os.path.dirname(os.path.abspath(__file__))
tok, io = os.path.join(here, "tok"), os.path.join(here, "io")

PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
           r"|\s+(?!\S)|\s+")
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
OTHERS = ["<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>"]

CORPUS = """The kernel adds two vectors of 1024 floats; each thread writes one element.
for (int i = 0; i < n; i++) {
    y[i] = alpha * x[i] + y[i];  // axpy
}
Der schnelle Kernel läuft, weil jede Zeile im Cache liegt. Größe: 4096 × 4096.
Быстрое ядро читает каждую строку один раз. 核函数只读取每一行一次。
naïve café, e\u0301te\u0301, \u212b, don't, WE'LL, it's;\tsum += a[i][k] * b[k][j];

    def forward(self, x):
        return torch.relu(self.linear(x))
The softmax of each row is the exponential of each value over the sum of the exponentials.
""" * 3

TEXTS = [
    "", " ", "  ", "\n", "\r\n", " \n ", "a", "ab", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "Hello, world!",
    "The kernel adds two vectors.", "for (int i = 0; i < 1024; i++) {\n    y[i] += x[i];\n}\n", "don't DON'T we'll I'M it'ſ",
    "1234567890 3.14159 1e-5", "  leading and trailing  ", "tabs\t\tand\n\n\nlines\r\n\r\nend", "a  b   c    d",
    "läuft Größe naïve café", "e\u0301 o\u0308 \u212b \u1e9b\u0323 \uac00 \u1100\u1161\u11a8", "核函数只读取每一行一次。",
    "Быстрое ядро", "العربية עברית हिन्दी ไทย", "😀👍🏽 👩‍👩‍👧", "a\u180eb \u180e c\u180e", "x\u0085y\u2028z\u2029w",
    "\u00a0\u1680\u2000\u202f\u205f\u3000end", "\u200bzero\u200dwidth\ufeff", "<|im_end|>", "a<|im_start|>user\nb<|im_end|>\n",
    "<think>\nso\n</think>\n\nyes", "<|im_end", "<<|im_end|>>", "<|im_start|><|im_end|><|endoftext|>", "</think", "<tool_call>",
    "!!!???...---", "a.b,c;d:e", "$100 + 50% = #1 @me", "…—“quotes”", "\x00\x01\x7f", "\ufffd", "İıſK", "Ⅷ½²", "ǅ",
    "\t", " \t ", "\n\n \n", "a \n b", "\u0301start", "snake_case CamelCase kebab-case", "https://example.com/a?b=c&d=e",
]


def build():
    t = Tokenizer(models.BPE())
    t.normalizer = normalizers.NFC()
    split = pre_tokenizers.Split(Regex(PATTERN), "isolated", False)
    t.pre_tokenizer = pre_tokenizers.Sequence(
        [split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator([CORPUS], trainers.BpeTrainer(
        vocab_size=480, min_frequency=2, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    t.add_special_tokens([AddedToken(s, normalized=False, special=True) for s in SPECIAL])
    t.add_tokens([AddedToken(s, normalized=False, special=False) for s in OTHERS])
    return t, split


def random_texts():
    r = random.Random(7)
    signs = list("abcXYZ 09 \n\r\t'sSt.,!\"(){}") + ["\u180e", "\u0085", "\u017f", "\u0301", "\u00e9", "\u4e2d", "<think>"]
    return ["".join(r.choice(signs) for _ in range(r.randrange(1, 40))) for _ in range(60)]


def write_lines(path, rows):
    with open(path, "w", encoding="utf-8") as f:
        for row in rows:
            f.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n")


def make_tokens(t, split):
    with open(os.path.join(tok, "corpus.txt"), "w", encoding="utf-8") as f:
        f.write(CORPUS)
    t.save(os.path.join(tok, "tokenizer.json"), pretty=False)
    rows = []
    for text in TEXTS + random_texts():
        rows.append({"text": text, "pieces": [p for p, _ in split.pre_tokenize_str(text)],
                     "ids": t.encode(text, add_special_tokens=False).ids})
    write_lines(os.path.join(tok, "encode.jsonl"), rows)


def make_classes(split):
    """How the pattern sees each character: letter, number, space, other; "-" where Unicode 14 assigns none."""
    def kind(c):
        if 0xD800 <= c < 0xE000 or unicodedata.category(chr(c)) == "Cn":
            return "-"
        apart, twice = len(split.pre_tokenize_str("!" + chr(c) + "!")), len(split.pre_tokenize_str(chr(c) * 2))
        return {(2, 1): "L", (3, 2): "N", (3, 1): "S", (1, 1): "O"}[apart, twice]
    assert unicodedata.unidata_version == "14.0.0", "use Python 3.11: its tables are those of PCRE2 10.42"
    runs = []
    for c in range(0x110000):
        k = kind(c)
        if runs and runs[-1][1] == k:
            continue
        runs.append((c, k))
    with open(os.path.join(tok, "classes.txt"), "w") as f:
        f.writelines("%X %s\n" % run for run in runs)


def conversations():
    def m(role, content, **more):
        return dict(role=role, content=content, **more)
    user, system = m("user", "Add two vectors."), m("system", "You write kernels.")
    answer = m("assistant", "Use a loop:\nfor (;;) {}")
    thought = m("assistant", "<think>\nFirst, the loop.\n</think>\n\nUse a loop.")
    apart = m("assistant", "\nUse a loop.", reasoning_content="\nFirst.\n")
    more = m("user", "Now <|im_end|> faster, it's slow.")
    result = m("user", "<tool_response>\n3\n</tool_response>")
    return [[user], [system, user], [user, answer], [system, user, answer, more], [user, thought],
            [system, user, thought, more, thought], [user, apart], [user, answer, m("system", "Be brief."), more, answer],
            [user, thought, result, answer], [user, answer, result, thought], [answer], [result, answer]]


def mask_of(t, text, prompt_block):
    """1 for tokens of what assistants say, and of the end of their turns."""
    spans = []
    for found in re.finditer(r"<\|im_start\|>assistant\n(.*?<\|im_end\|>)", text, re.S):
        begin = found.start(1)
        if prompt_block and text.startswith("<think>\n\n</think>\n\n", begin):
            begin += len("<think>\n\n</think>\n\n")
        spans.append((begin, found.end(1)))
    e = t.encode(text, add_special_tokens=False)
    return e.ids, [int(any(a <= x and y <= b for a, b in spans)) for x, y in e.offsets]


def make_chat(t, templates):
    from transformers.utils.chat_template_utils import render_jinja_template
    rows = []
    for kind in ("qwen2.5", "qwen3"):
        with open(os.path.join(templates, kind.replace(".", "") + ".jinja"), encoding="utf-8") as f:
            template = f.read().rstrip("\n")
        for messages in conversations():
            for prompt in (False, True):
                for thinking in ((True, False) if kind == "qwen3" else (True,)):
                    more = {} if thinking else {"enable_thinking": False}
                    text = render_jinja_template([messages], chat_template=template, add_generation_prompt=prompt,
                                                 **more)[0][0]
                    row = {"kind": kind, "prompt": prompt, "thinking": thinking, "messages": messages, "text": text}
                    # content is text, and what an assistant says is encoded apart from its header
                    if not any("<|im_end|>" in m["content"] or m["content"].startswith("\n") for m in messages):
                        row["ids"], row["mask"] = mask_of(t, text, not thinking)
                    rows.append(row)
    write_lines(os.path.join(tok, "chat.jsonl"), rows)


def make_safetensors():
    r = random.Random(3)
    sizes = {"float32": 4, "float16": 2, "bfloat16": 2, "float64": 8, "int64": 8, "int32": 4, "int16": 2, "int8": 1,
             "uint8": 1, "bool": 1, "float8_e4m3fn": 1, "float8_e5m2": 1}
    tensors, kept = {}, []

    def add(name, dtype, shape, data):
        kept.append(ctypes.create_string_buffer(data, max(len(data), 1)))
        tensors[name] = TensorSpec(dtype=dtype, shape=shape, data_ptr=ctypes.addressof(kept[-1]), data_len=len(data))
    for name, size in sizes.items():
        add("t." + name, name, [2, 3], r.randbytes(6 * size) if name != "bool" else bytes(6))
    add("scalar", "float32", [], struct.pack("<f", 1.5))
    add("empty", "float32", [0, 4], b"")
    add("model.layers.0.é", "bfloat16", [1], struct.pack("<H", 0x3FC0))
    serialize_file(tensors, os.path.join(io, "small.safetensors"), metadata={"format": "pt"})


def make_configs():
    from transformers import Qwen2Config, Qwen3Config
    common = dict(hidden_size=64, intermediate_size=176, num_hidden_layers=2, num_attention_heads=4,
                  num_key_value_heads=2, vocab_size=512, max_position_embeddings=256, rms_norm_eps=1e-5)
    for name, config in (
            ("qwen2", Qwen2Config(architectures=["Qwen2ForCausalLM"], tie_word_embeddings=True,
                                  rope_parameters={"rope_type": "default", "rope_theta": 1e6}, **common)),
            ("qwen3", Qwen3Config(architectures=["Qwen3ForCausalLM"], tie_word_embeddings=False, head_dim=32,
                                  rope_parameters={"rope_type": "default", "rope_theta": 5e6}, **common))):
        with tempfile.TemporaryDirectory() as d:
            config.save_pretrained(d)
            with open(os.path.join(d, "config.json"), encoding="utf-8") as f:
                text = f.read()
        with open(os.path.join(io, name + ".config.json"), "w", encoding="utf-8") as f:
            f.write(text.rstrip("\n") + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--templates")
    templates = parser.parse_args().templates
    os.makedirs(tok, exist_ok=True)
    os.makedirs(io, exist_ok=True)
    t, split = build()
    make_tokens(t, split)
    make_classes(split)
    if templates:
        make_chat(t, templates)
    make_safetensors()
    make_configs()


main()
