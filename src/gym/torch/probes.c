#include "gym/torch/probes.h"

static const struct {
    const char *name, *tensor; /* what a tensor t of the answer becomes */
} probes[KG_TPROBE_COUNT] = {
    [KG_TPROBE_REFERENCE] = {"reference", "t"},
    [KG_TPROBE_ZEROS] = {"zeros", "torch.zeros_like(t)"},
    [KG_TPROBE_ONES] = {"ones", "torch.ones_like(t)"},
    [KG_TPROBE_MEAN] = {"mean", "torch.full_like(t, t.double().nan_to_num().mean().item())"},
    [KG_TPROBE_FIRST_INPUT] = {"first input", "_kg_reshape(_kg_first(args), t)"},
};

const char *kg_tprobe_name(enum kg_tprobe p)
{
    return probes[p].name;
}

/* The problem's text, and helpers that walk over arguments and answers. */
static const char helpers[] =
    "\n\nimport torch\n\n\n"
    "def _kg_map(f, v):\n"
    "    if isinstance(v, torch.Tensor):\n"
    "        return f(v)\n"
    "    if isinstance(v, (list, tuple)):\n"
    "        made = [_kg_map(f, x) for x in v]\n"
    "        return type(v)(*made) if hasattr(v, '_fields') else type(v)(made)\n"
    "    if isinstance(v, dict):\n"
    "        return {k: _kg_map(f, x) for k, x in v.items()}\n"
    "    return v\n\n\n"
    "def _kg_first(args):\n"
    "    found = []\n"
    "    _kg_map(found.append, list(args))\n"
    "    return found[0]\n\n\n"
    "def _kg_reshape(x, like):\n"
    "    flat = x.reshape(-1)\n"
    "    times = -(-like.numel() // flat.numel())\n"
    "    return flat.repeat(times)[:like.numel()].reshape(like.shape).to(like.dtype)\n\n\n"
    "def _kg_freeze(t):\n"
    "    first = t.detach().reshape(-1)[:1]\n"
    "    return (first + 1 if t.numel() == 1 else first).expand(t.numel()).reshape(t.shape)"
    ".clone().to(t.dtype)\n\n\n";

static void begin(const struct kg_tproblem *p, struct kg_buf *out)
{
    kg_buf_add(out, p->source, p->source_len);
    kg_buf_adds(out, helpers);
    kg_buf_addf(out, "class %s(%s):\n", p->entry, p->reference);
}

void kg_tprobe_source(const struct kg_tproblem *p, enum kg_tprobe probe, struct kg_buf *out)
{
    begin(p, out);
    kg_buf_addf(out,
                "    def forward(self, *args, **kwargs):\n"
                "        return _kg_map(lambda t: %s, super().forward(*args, **kwargs))\n",
                probes[probe].tensor);
}

void kg_tprobe_frozen_input(const struct kg_tproblem *p, size_t input, struct kg_buf *out)
{
    begin(p, out);
    kg_buf_addf(out,
                "    def forward(self, *args, **kwargs):\n"
                "        at = [-1]\n\n"
                "        def one(t):\n"
                "            at[0] += 1\n"
                "            return _kg_freeze(t) if at[0] == %zu else t\n\n"
                "        return super().forward(*_kg_map(one, args), **kwargs)\n",
                input);
}

void kg_tprobe_frozen_parameter(const struct kg_tproblem *p, const char *name, struct kg_buf *out)
{
    begin(p, out);
    kg_buf_addf(out,
                "    def prepare(self):\n"
                "        t = self.state_dict()[\"%s\"]\n"
                "        t.copy_(_kg_freeze(t))\n",
                name);
}
