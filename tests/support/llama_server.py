"""llama.cpp's server with a random model that is written here, for tests of a policy behind an
endpoint. Needs the package xllamacpp, whose wheel holds the server.

    llama_server.py FOLDER [WINDOW]

Writes FOLDER/tiny.gguf, prints the server's address, serves until its standard input ends. The
model is a llama of two layers over bytes with the template of ChatML; its window has WINDOW tokens
(1024) for each of two conversations. Exits with 3 where the package is not there."""
import os
import random
import struct
import sys

LAYERS, WIDTH, INNER, HEADS, SLOTS = 2, 64, 128, 4, 2
CONTEXT = int(sys.argv[2]) if len(sys.argv) > 2 else 1024
U32, F32, BOOL, STRING, ARRAY, I32 = 4, 6, 7, 8, 9, 5
TEMPLATE = ("{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + "
            "message['content'] + '<|im_end|>' + '\n'}}{% endfor %}"
            "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")


def byte_names():
    """The printable character that stands for each byte, as in GPT-2."""
    plain = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    names, more = {}, 0
    for b in range(256):
        names[b] = chr(b) if b in plain else chr(256 + more)
        more += b not in plain
    return [names[b] for b in range(256)]


def text(s):
    data = s.encode()
    return struct.pack("<Q", len(data)) + data


def value(kind, v):
    if kind == ARRAY:
        of, items = v
        return struct.pack("<IQ", of, len(items)) + b"".join(value(of, i) for i in items)
    return text(v) if kind == STRING else struct.pack({U32: "<I", I32: "<i", F32: "<f",
                                                       BOOL: "<?"}[kind], v)


def tensors(vocabulary):
    yield "token_embd.weight", (WIDTH, vocabulary), 1
    for i in range(LAYERS):
        for name, shape in (("attn_norm", (WIDTH,)), ("attn_q", (WIDTH, WIDTH)),
                            ("attn_k", (WIDTH, WIDTH)), ("attn_v", (WIDTH, WIDTH)),
                            ("attn_output", (WIDTH, WIDTH)), ("ffn_norm", (WIDTH,)),
                            ("ffn_gate", (WIDTH, INNER)), ("ffn_up", (WIDTH, INNER)),
                            ("ffn_down", (INNER, WIDTH))):
            yield "blk.%d.%s.weight" % (i, name), shape, 0.2
    yield "output_norm.weight", (WIDTH,), 0
    yield "output.weight", (WIDTH, vocabulary), 0.2


def write_model(path):
    draw = random.Random(7)
    names = byte_names()
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    words = names + ["er", "in"] + special
    kinds = [1] * (len(words) - len(special)) + [3] * len(special)
    fields = [("general.architecture", STRING, "llama"), ("general.name", STRING, "tiny"),
              ("llama.block_count", U32, LAYERS), ("llama.context_length", U32, CONTEXT),
              ("llama.embedding_length", U32, WIDTH), ("llama.feed_forward_length", U32, INNER),
              ("llama.attention.head_count", U32, HEADS),
              ("llama.attention.head_count_kv", U32, HEADS),
              ("llama.attention.layer_norm_rms_epsilon", F32, 1e-5),
              ("llama.rope.dimension_count", U32, WIDTH // HEADS),
              ("llama.vocab_size", U32, len(words)),
              ("tokenizer.ggml.model", STRING, "gpt2"), ("tokenizer.ggml.pre", STRING, "gpt-2"),
              ("tokenizer.ggml.tokens", ARRAY, (STRING, words)),
              ("tokenizer.ggml.token_type", ARRAY, (I32, kinds)),
              ("tokenizer.ggml.merges", ARRAY, (STRING, ["e r", "i n"])),
              ("tokenizer.ggml.bos_token_id", U32, words.index("<|endoftext|>")),
              ("tokenizer.ggml.eos_token_id", U32, words.index("<|im_end|>")),
              ("tokenizer.ggml.add_bos_token", BOOL, False),
              ("tokenizer.chat_template", STRING, TEMPLATE)]
    infos, data = b"", b""
    every = list(tensors(len(words)))
    for name, shape, scale in every:
        count = 1
        for n in shape:
            count *= n
        infos += text(name) + struct.pack("<I", len(shape))
        infos += b"".join(struct.pack("<Q", n) for n in shape) + struct.pack("<IQ", 0, len(data))
        numbers = [draw.gauss(0, scale) for _ in range(count)] if len(shape) > 1 else [1.0] * count
        data += struct.pack("<%df" % count, *numbers)
        data += b"\0" * (-len(data) % 32)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(every), len(fields))
    head += b"".join(text(k) + struct.pack("<I", t) + value(t, v) for k, t, v in fields) + infos
    with open(path, "wb") as f:
        f.write(head + b"\0" * (-len(head) % 32) + data)


def main():
    try:
        import xllamacpp
    except ImportError:
        sys.exit(3)
    os.dup2(os.open(os.path.join(sys.argv[1], "log"), os.O_WRONLY | os.O_CREAT), 2)
    path = os.path.join(sys.argv[1], "tiny.gguf")
    write_model(path)
    p = xllamacpp.CommonParams()
    p.model.path = path
    p.hostnames, p.port = ["127.0.0.1"], 0
    p.n_ctx, p.n_parallel = CONTEXT * SLOTS, SLOTS
    p.cpuparams.n_threads = 1
    server = xllamacpp.Server(p)
    print(server.listening_address, flush=True)
    sys.stdin.read()
    os._exit(0)


main()
