/* Styles of candidates: their list, names and draws, and the candidate as a whole. */
#include <string.h>

#include "rl/chains/write.h"

static const char poly[] =
    "static float ex(float x){x=x<-87?-87:x>88?88:x;float n=rintf(x*1.442695f),r=x-n*.6931472f;"
    "union{int i;float f;}u={((int)n+127)<<23};return u.f*(1+r*(1+r*(.5f+r*(1/6.f+r*(1/24.f+r*"
    "(1/120.f+r*(1/720.f)))))));}\n";
static const char rough[] =
    "static float ex(float x){x=1+(x<-80?-80:x>80?80:x)*(1/256.f);x*=x;x*=x;x*=x;x*=x;x*=x;x*=x;"
    "x*=x;x*=x;return x;}\n";
static const char *const sums[2] = {
    "#define SUM(r,l,e) float r=0;for(long j=0;j<m;j++){l;r+=e;}\n",
    "#define SUM(r,l,e) float r=0;{float w[16]={0};for(long h=0;h<m/16;h++)for(int k=0;k<16;k++){"
    "long j=h*16+k;l;w[k]+=e;}for(long j=m/16*16;j<m;j++){l;r+=e;}for(int k=0;k<16;k++)r+=w[k];}"
    "\n",
};
static const char *const maxima[2] = {
    "#define MAX(r,l,e) float r=-INFINITY;for(long j=0;j<m;j++){l;r=e>r?e:r;}\n",
    "#define MAX(r,l,e) float r=-INFINITY;{float w[16];for(int k=0;k<16;k++)w[k]=r;for(long h=0;"
    "h<m/16;h++)for(int k=0;k<16;k++){long j=h*16+k;l;w[k]=e>w[k]?e:w[k];}for(long j=m/16*16;j<m;"
    "j++){l;r=e>r?e:r;}for(int k=0;k<16;k++)r=w[k]>r?w[k]:r;}\n",
};

static const char *const form_names[] = {"library", "library-rows", "own", "own-rows", "own-fused"};

const struct rl_mix rl_mix_weak = {
    .form = {.35, .10, .35, .10, .10}, .poly = .25, .lanes = .25, .order = .25};
const struct rl_mix rl_mix_rich = {
    .form = {.25, .10, .25, .15, .25}, .poly = .35, .lanes = .35, .order = .25};

/* Has any operator an exponential, a fold, or two ways to write a product? */
static bool has_exp(const struct rl_op *o)
{
    return (o->code[0] && strchr(o->code[0], 'E')) ||
           (o->pass[1].load && strchr(o->pass[1].load, 'E'));
}

static bool has_order(const struct rl_op *o)
{
    bool differs = o->code[0] && strcmp(o->code[0], o->code[1]) != 0;
    for (int i = 0; i < 2 && o->pass[i].fold; i++) {
        differs = differs || strcmp(o->pass[i].after[0], o->pass[i].after[1]) != 0;
    }
    return differs;
}

struct rl_style rl_style_plain(const struct rl_chain *c, struct rl_style s)
{
    bool exp = false, folds = false, order = false;
    for (int i = 0; i < c->n; i++) {
        const struct rl_op *o = &rl_op_table[c->op[i]];
        exp = exp || has_exp(o);
        folds = folds || o->pass[0].fold;
        order = order || has_order(o);
    }
    bool own = s.form >= RL_OWN;
    bool one = c->n == 1; /* one operator: its loops are the same in every own form */
    return (struct rl_style){.form = own && one ? RL_OWN : s.form,
                             .exp = own && exp ? s.exp : RL_EXP_LIBM,
                             .lanes = own && folds && s.lanes,
                             .order = own && order && s.order};
}

bool rl_style_equal(struct rl_style a, struct rl_style b)
{
    return a.form == b.form && a.exp == b.exp && a.lanes == b.lanes && a.order == b.order;
}

int rl_styles_list(const struct rl_chain *c, struct rl_style out[RL_STYLES])
{
    int n = 0;
    for (int k = 0; k < RL_FORMS * 8; k++) {
        struct rl_style s = {.form = (enum rl_form)(k / 8),
                             .exp = (enum rl_exp)(k / 4 % 2),
                             .lanes = k / 2 % 2,
                             .order = k % 2};
        if (rl_style_equal(s, rl_style_plain(c, s))) {
            out[n++] = s;
        }
    }
    return n;
}

void rl_style_name(struct rl_style s, char out[48])
{
    static const char *const exps[] = {"", " poly", " rough"};
    struct kg_buf b;
    kg_buf_init(&b, 47);
    kg_buf_addf(&b, "%s%s%s%s", form_names[s.form], exps[s.exp], s.lanes ? " lanes" : "",
                s.order ? " order" : "");
    memcpy(out, b.data, b.len + 1);
    kg_buf_deinit(&b);
}

struct rl_style rl_style_draw(const struct rl_chain *c, const struct rl_mix *mix, struct kg_rng *r)
{
    double total = 0, at;
    int form = 0;
    for (int i = 0; i < RL_FORMS; i++) {
        total += mix->form[i];
    }
    KG_ASSERT(total > 0);
    at = kg_rng_unit(r) * total;
    while (form < RL_FORMS - 1 && at >= mix->form[form]) {
        at -= mix->form[form++];
    }
    struct rl_style s = {.form = (enum rl_form)form};
    s.exp = kg_rng_unit(r) < mix->poly ? RL_EXP_POLY : RL_EXP_LIBM;
    s.lanes = kg_rng_unit(r) < mix->lanes;
    s.order = kg_rng_unit(r) < mix->order;
    return rl_style_plain(c, s);
}

void rl_write_head(const struct rl_chain *c, const char *type, bool spaced, char without,
                   struct kg_buf *out)
{
    char args[8];
    const char *gap = spaced ? " " : "";
    rl_write_args(c, args);
    kg_buf_adds(out, "void k(");
    for (const char *a = args; *a; a++) {
        if (*a == without) {
            continue;
        }
        if (*a == 'y') {
            kg_buf_addf(out, "%s%s*%s%c,%s", type, gap, spaced ? "" : "restrict ", *a, gap);
        } else {
            kg_buf_addf(out, "const %s%s*%c,%s", type, gap, *a, gap);
        }
    }
    kg_buf_adds(out, without == 'n' ? "" : "int64_t n,");
    kg_buf_adds(out, spaced ? " int64_t m)\n{\n    " : "int64_t m){");
}

void rl_write_candidate(const struct rl_chain *c, const struct rl_chain *body, struct rl_style s,
                        char without, struct kg_buf *out)
{
    bool own = s.form >= RL_OWN;
    struct kg_buf loops;
    kg_buf_init(&loops, RL_CHAIN_BYTES);
    if (own) {
        rl_write_loops(body, s, &loops);
        kg_buf_adds(out, "#include <math.h>\n#include <stdint.h>\n#include <stdlib.h>\n");
        if (strstr(loops.data, "ex(")) {
            kg_buf_adds(out, s.exp == RL_EXP_ROUGH ? rough : s.exp == RL_EXP_POLY ? poly : "");
        }
        kg_buf_adds(out, strstr(loops.data, "SUM(") ? sums[s.lanes] : "");
        kg_buf_adds(out, strstr(loops.data, "MAX(") ? maxima[s.lanes] : "");
    } else {
        rl_write_calls(body, "float", s.form == RL_LIBRARY_ROWS, false, &loops);
        kg_buf_adds(out, "#include \"kgops.h\"\n#include <stdlib.h>\n");
    }
    rl_write_head(c, "float", false, without, out);
    kg_buf_adds(out, loops.data);
    kg_buf_deinit(&loops);
}

void rl_chain_code(const struct rl_chain *c, struct rl_style s, struct kg_buf *out)
{
    rl_write_candidate(c, c, s, 0, out);
}

/* The texts without their blanks are compared. */
static bool like(const char *a, size_t n, const char *b, size_t m)
{
    size_t i = 0, j = 0;
    for (;;) {
        while (i < n && strchr(" \t\r\n", a[i])) {
            i++;
        }
        while (j < m && strchr(" \t\r\n", b[j])) {
            j++;
        }
        if (i == n || j == m) {
            return i == n && j == m;
        }
        if (a[i++] != b[j++]) {
            return false;
        }
    }
}

bool rl_style_find(const struct rl_chain *c, const char *text, size_t len, struct rl_style *out)
{
    struct rl_style style[RL_STYLES];
    int n = rl_styles_list(c, style);
    struct kg_buf b;
    bool found = false;
    kg_buf_init(&b, RL_CHAIN_BYTES);
    for (int i = 0; i < n && !found; i++) {
        kg_buf_reset(&b);
        rl_chain_code(c, style[i], &b);
        found = like(text, len, b.data, b.len);
        *out = style[i];
    }
    kg_buf_deinit(&b);
    return found;
}
