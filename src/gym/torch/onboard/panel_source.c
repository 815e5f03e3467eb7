/* Writes Python candidates from a problem: trivial answers, and the reference with something
 * frozen. */
#include "gym/torch/onboard/panel_source.h"

#include <stdio.h>

static const struct {
    const char *name, *tensor; /* what tensor t of the answer, its i-th, becomes */
} probes[KG_TPROBE_COUNT] = {
    [KG_TPROBE_REFERENCE] = {"reference", "t"},
    [KG_TPROBE_ZEROS] = {"zeros", "torch.zeros_like(t)"},
    [KG_TPROBE_ONES] = {"ones", "torch.ones_like(t)"},
    [KG_TPROBE_MEAN] = {"mean", "_kg_mean(t) if t.numel() > 1 else _kg_first_of(kept, i, t)"},
    [KG_TPROBE_SHUFFLED] = {"shuffled", "_kg_shuffle(t)"},
    [KG_TPROBE_SCALED] = {"scaled", "_kg_scale(t)"},
    [KG_TPROBE_EARLIER] = {"earlier answer", "_kg_last(kept, i, t)"},
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
    "def _kg_tensors(args):\n"
    "    found = []\n"
    "    _kg_map(found.append, list(args))\n"
    "    return found\n\n\n"
    "def _kg_reshape(x, like):\n"
    "    flat = x.reshape(-1)\n"
    "    times = -(-like.numel() // flat.numel())\n"
    "    return flat.repeat(times)[:like.numel()].reshape(like.shape).to(like.dtype)\n\n\n"
    "def _kg_mean(t):\n"
    "    return torch.full_like(t, t.double().nan_to_num().mean().item())\n\n\n"
    "def _kg_mean_along(t, d):\n"
    "    if t.dim() <= d or t.shape[d] == 1:\n"
    "        return t\n"
    "    return t.double().nan_to_num().mean(d, keepdim=True).to(t.dtype).expand_as(t).clone()"
    "\n\n\n"
    "def _kg_shuffle(t):\n" /* by about a third: no period of rows, and no mirror, is that long */
    "    flat = t.reshape(-1)\n"
    "    return flat.roll(flat.numel() // 3 + 1).reshape(t.shape)\n\n\n"
    "def _kg_scale(t):\n" /* by what the bound of no dtype reaches */
    "    if t.is_floating_point():\n"
    "        return t * (1.01 if t.element_size() >= 4 else 1.1)\n"
    "    return ~t if t.dtype is torch.bool else t + 1\n\n\n"
    "def _kg_first_of(kept, i, t):\n"
    "    if i not in kept:\n" /* not where a call's tensors lie: that is written again */
    "        kept[i] = t.detach().cpu().clone()\n"
    "    return kept[i].to(t.device).clone()\n\n\n"
    "def _kg_last(kept, i, t):\n"
    "    last = _kg_first_of(kept, i, t)\n"
    "    kept[i] = t.detach().cpu().clone()\n"
    "    return last\n\n\n"
    "def _kg_freeze(t, kept):\n"
    "    flat = t.detach().reshape(-1)\n"
    "    first = flat[:1]\n"
    "    if bool((flat == first).all()):\n" /* it is so already */
    "        if t.dtype is torch.bool:\n"
    "            first = ~first\n"
    "        elif t.is_floating_point():\n"
    "            first = first + 1\n"
    "        else:\n" /* any other may be out of its range */
    "            first = _kg_first_of(kept, 0, first)\n"
    "    return first.expand(t.numel()).reshape(t.shape).clone()\n\n\n";

static void begin(const struct kg_tproblem *p, struct kg_buf *out)
{
    kg_buf_add(out, p->source, p->source_len);
    kg_buf_adds(out, helpers);
    kg_buf_addf(out, "class %s(%s):\n", p->entry, p->reference);
}

/* The reference, and what tensor t of its answer, the i-th, becomes. */
static void with_answer(const struct kg_tproblem *p, const char *tensor, struct kg_buf *out)
{
    begin(p, out);
    kg_buf_addf(out,
                "    def forward(self, *args, **kwargs):\n"
                "        kept, at = self.__dict__.setdefault(\"_kg_kept\", {}), [-1]\n\n"
                "        def one(t):\n"
                "            at[0] += 1\n"
                "            i = at[0]\n"
                "            return %s\n\n"
                "        return _kg_map(one, super().forward(*args, **kwargs))\n",
                tensor);
}

void kg_tprobe_source(const struct kg_tproblem *p, enum kg_tprobe probe, struct kg_buf *out)
{
    with_answer(p, probes[probe].tensor, out);
}

void kg_tprobe_input(const struct kg_tproblem *p, size_t input, struct kg_buf *out)
{
    char tensor[64];
    snprintf(tensor, sizeof tensor, "_kg_reshape(_kg_tensors(args)[%zu], t)", input);
    with_answer(p, tensor, out);
}

void kg_tprobe_axis(const struct kg_tproblem *p, uint32_t axis, struct kg_buf *out)
{
    char tensor[64];
    snprintf(tensor, sizeof tensor, "_kg_mean_along(t, %u)", axis);
    with_answer(p, tensor, out);
}

void kg_tprobe_frozen_input(const struct kg_tproblem *p, size_t input, struct kg_buf *out)
{
    begin(p, out);
    kg_buf_addf(out,
                "    def forward(self, *args, **kwargs):\n"
                "        kept, at = self.__dict__.setdefault(\"_kg_kept\", {}), [-1]\n\n"
                "        def one(t):\n"
                "            at[0] += 1\n"
                "            return _kg_freeze(t, kept) if at[0] == %zu else t\n\n"
                "        return super().forward(*_kg_map(one, args), **kwargs)\n",
                input);
}

void kg_tprobe_frozen_parameter(const struct kg_tproblem *p, const char *name, struct kg_buf *out)
{
    begin(p, out);
    kg_buf_addf(out,
                "    def prepare(self):\n"
                "        t = self.state_dict()[\"%s\"]\n"
                "        t.copy_(_kg_freeze(t, {}))\n",
                name);
}
