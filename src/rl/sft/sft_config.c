/* The option table of `kgym sft`, and what its texts mean. */
#include "rl/sft/sft_config.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lm/model/model.h"

static const char *const turns[] = {"all", "improving", NULL};
static const char *const overs[] = {"drop", "cut", NULL};

#define OPT_STRUCT struct rl_sft_config
#include "base/opt_rows.h"

static const struct kg_opt own[] = {
    TEXT("from", from, "", "Folder of a model to begin from; empty: fresh weights."),
    TEXT("adapter", adapter, "", "Folder of a PEFT adapter of `from` to train on."),
    TEXT("tokenizer", tokenizer, "", "`train N` (merges), a file, a folder; empty: of `from`."),
    TEXT("template", template, "auto", "Chat template, such as qwen3-instruct; auto: by its file."),
    BOOL("thinking", thinking, "no", "Of qwen3: replies hold thoughts."),
    ENUM("turns", turns, turns, "all", "Replies of a trajectory that train."),
    ENUM("over", over, overs, "drop", "Conversations that are too long."),
    REAL("epochs", epochs, 0, 1e6, "2", "", "Passes over the data; 0: no limit."),
    INT("micro", micro, 1, 4096, "1", "", "Micro-batches of sft.rows in a step."),
    REAL("valid_share", valid_share, 0, 0.5, "0.05", "", "Chance of a problem to be held out."),
    INT("valid_every", valid_every, 0, 1e9, "50", "", "Steps between validations; 0: at the end."),
    INT("save_every", save_every, 0, 1e9, "200", "", "Steps between checkpoints; 0: none."),
    REAL("decay", decay, 0, 10, "0.01", "", "Weight decay of matrices."),
    REAL("clip", clip, 0, 1e6, "1", "", "Highest norm of the gradient; 0: off."),
    INT("lora.r", lora_r, 0, 4096, "0", "",
        "Rank of a new adapter of `from`; 0: all weights are trained."),
    REAL("lora.alpha", lora_alpha, 0, 1e6, "32", "", "Its output is scaled by alpha / r."),
    REAL("lora.dropout", lora_dropout, 0, 0.99, "0.05", "", "Of its inputs."),
    TEXT("lora.targets", lora_targets, "all",
         "all, or q_proj,k_proj,v_proj,o_proj,gate_proj,up_proj,..."),
    TEXT("verify", verify, "sample 64", "Judge a generated corpus: all, `sample N`, none."),
};

/* Rows of `kgym train`; a name that ends in a dot stands for a section. */
static const char *const shared[] = {"seed",       "threads", "split",     "part",   "model.",
                                     "corpus.",    "sft.",    "ctx_max",   "fb_max", "reward",
                                     "gym_preset", "service", "token_file"};
/* Of these the default is another one here, and 0 is allowed. */
static const struct {
    const char *key, *def;
} other[] = {
    {"corpus.documents", "0"}, {"sft.seconds", "0"}, {"sft.lr", "0.001"}, {"ctx_max", "2048"}};

enum { ROWS_MAX = 128 };
static struct kg_opt rows[ROWS_MAX];
static kg_opts_other more; /* files and keys of the gym */
static struct kg_opts options = {.table = rows, .other = more};

static bool is_shared(const char *key)
{
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) {
        size_t n = strlen(shared[i]);
        bool section = shared[i][n - 1] == '.';
        if (section ? strncmp(key, shared[i], n) == 0 : strcmp(key, shared[i]) == 0) {
            return true;
        }
    }
    return false;
}

const struct kg_opts *rl_sft_options(void)
{
    const struct kg_opts *train = rl_options();
    if (options.n > 0) {
        return &options;
    }
    size_t n = sizeof own / sizeof *own;
    memcpy(rows, own, sizeof own);
    for (size_t i = 0; i < train->n; i++) {
        if (!is_shared(train->table[i].key)) {
            continue;
        }
        KG_ASSERT(n < ROWS_MAX);
        rows[n] = train->table[i];
        for (size_t k = 0; k < sizeof other / sizeof *other; k++) {
            if (strcmp(other[k].key, rows[n].key) == 0) {
                rows[n].def = other[k].def;
                rows[n].lo = strcmp(other[k].def, "0") == 0 ? 0 : rows[n].lo;
            }
        }
        n++;
    }
    options.n = n;
    return &options;
}

void rl_sft_config_defaults(struct rl_sft_config *c)
{
    memset(c, 0, sizeof *c);
    rl_config_defaults(&c->run);
    kg_opts_defaults(rl_sft_options(), c);
}

/* --- files and pairs --- */

enum kg_code rl_sft_files_add(struct rl_sft_files *f, const char *path, struct kg_err *err)
{
    if (f->n == RL_SFT_FILES) {
        return kg_fail(err, KG_E_LIMIT, "data: more than %d files", RL_SFT_FILES);
    }
    if (path[0] == '\0' || strlen(path) >= RL_SFT_PATH) {
        return kg_fail(err, KG_E_USAGE, "data: `%.80s` is no path of at most %d bytes", path,
                       RL_SFT_PATH - 1);
    }
    memcpy(f->path[f->n++], path, strlen(path) + 1);
    return KG_OK;
}

static struct rl_sft_files *files_of(struct rl_sft_config *c, const char *key)
{
    return strcmp(key, "data") == 0 ? &c->data : strcmp(key, "valid") == 0 ? &c->valid : NULL;
}

static enum kg_code more(void *config, const char *key, size_t i, const char *value,
                         const char *source, bool *taken, struct kg_err *err)
{
    struct rl_sft_config *c = config;
    struct rl_sft_files *f = files_of(c, key);
    if (f == NULL) {
        return rl_config_gym(&c->run, key, i, value, source, taken, err);
    }
    *taken = true;
    f->n = i == 0 ? 0 : f->n;
    return rl_sft_files_add(f, value, err);
}

enum kg_code rl_sft_config_pair(struct rl_sft_config *c, const char *pair, const char *source,
                                struct kg_err *err)
{
    return kg_opts_set_pair(rl_sft_options(), c, pair, source, err);
}

enum kg_code rl_sft_config_file(struct rl_sft_config *c, const char *path, struct kg_err *err)
{
    return kg_opts_yaml(rl_sft_options(), c, path, err);
}

static void dump_files(const char *key, const struct rl_sft_files *f, struct kg_buf *out)
{
    if (f->n > 0) {
        kg_buf_addf(out, "%s:\n", key);
    }
    for (size_t i = 0; i < f->n; i++) {
        kg_buf_adds(out, "  - ");
        kg_opts_dump_text(f->path[i], out);
        kg_buf_addc(out, '\n');
    }
}

void rl_sft_config_dump(const struct rl_sft_config *c, struct kg_buf *out)
{
    dump_files("data", &c->data, out);
    dump_files("valid", &c->valid, out);
    kg_opts_dump(rl_sft_options(), c, false, out);
    rl_config_dump_gym(&c->run, out);
}
