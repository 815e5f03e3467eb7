/* The option table of `kgym sft`, and what its texts mean. */
#include "rl/sft_config.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/yaml.h"
#include "lm/model/model.h"

static const char *const turns[] = {"all", "improving", NULL};
static const char *const overs[] = {"drop", "cut", NULL};

#define AT(field) offsetof(struct rl_sft_config, field), sizeof(((struct rl_sft_config *)0)->field)
#define ROW(key, type, field, lo, hi, names, def, unit, help)                                      \
    {                                                                                              \
        key, type, AT(field), lo, hi, names, def, unit, help, false                                \
    }

static const struct kg_opt own[] = {
    ROW("from", KG_OPT_STRING, from, 0, 0, NULL, "", "",
        "Folder of a model to begin from; empty: fresh weights."),
    ROW("adapter", KG_OPT_STRING, adapter, 0, 0, NULL, "", "",
        "Folder of a PEFT adapter of `from` to train on."),
    ROW("tokenizer", KG_OPT_STRING, tokenizer, 0, 0, NULL, "", "",
        "`train N` (merges), a file, a folder; empty: of `from`."),
    ROW("template", KG_OPT_STRING, template, 0, 0, NULL, "auto", "",
        "Chat template, such as qwen3-instruct; auto: by its file."),
    ROW("thinking", KG_OPT_BOOL, thinking, 0, 0, NULL, "no", "",
        "Of qwen3: replies hold thoughts."),
    ROW("turns", KG_OPT_ENUM, turns, 0, 0, turns, "all", "", "Replies of a trajectory that train."),
    ROW("over", KG_OPT_ENUM, over, 0, 0, overs, "drop", "", "Conversations that are too long."),
    ROW("epochs", KG_OPT_REAL, epochs, 0, 1e6, NULL, "2", "", "Passes over the data; 0: no limit."),
    ROW("micro", KG_OPT_INT, micro, 1, 4096, NULL, "1", "", "Micro-batches of sft.rows in a step."),
    ROW("valid_share", KG_OPT_REAL, valid_share, 0, 0.5, NULL, "0.05", "",
        "Chance of a problem to be held out."),
    ROW("valid_every", KG_OPT_INT, valid_every, 0, 1e9, NULL, "50", "",
        "Steps between validations; 0: at the end."),
    ROW("save_every", KG_OPT_INT, save_every, 0, 1e9, NULL, "200", "",
        "Steps between checkpoints; 0: none."),
    ROW("decay", KG_OPT_REAL, decay, 0, 10, NULL, "0.01", "", "Weight decay of matrices."),
    ROW("clip", KG_OPT_REAL, clip, 0, 1e6, NULL, "1", "", "Highest norm of the gradient; 0: off."),
    ROW("lora.r", KG_OPT_INT, lora_r, 0, 4096, NULL, "0", "",
        "Rank of a new adapter of `from`; 0: all weights are trained."),
    ROW("lora.alpha", KG_OPT_REAL, lora_alpha, 0, 1e6, NULL, "32", "",
        "Its output is scaled by alpha / r."),
    ROW("lora.dropout", KG_OPT_REAL, lora_dropout, 0, 0.99, NULL, "0.05", "", "Of its inputs."),
    ROW("lora.targets", KG_OPT_STRING, lora_targets, 0, 0, NULL, "all", "",
        "all, or q_proj,k_proj,v_proj,o_proj,gate_proj,up_proj,..."),
    ROW("verify", KG_OPT_STRING, verify, 0, 0, NULL, "sample 64", "",
        "Judge a generated corpus: all, `sample N`, none."),
};

/* Rows of `kgym train`; a name that ends in a dot stands for a section. */
static const char *const shared[] = {"seed", "threads", "part",   "model.", "corpus.",
                                     "sft.", "ctx_max", "fb_max", "reward", "gym_preset"};
/* Of these the default is another one here, and 0 is allowed. */
static const struct {
    const char *key, *def;
} other[] = {
    {"corpus.documents", "0"}, {"sft.seconds", "0"}, {"sft.lr", "0.001"}, {"ctx_max", "2048"}};

enum { ROWS_MAX = 128 };
static struct kg_opt rows[ROWS_MAX];
static struct kg_opts options = {rows, 0};

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

static enum kg_code set(struct rl_sft_config *c, const char *key, const char *value,
                        const char *source, struct kg_err *err)
{
    char pair[RL_GYM_KEY + 8];
    struct rl_sft_files *f = files_of(c, key);
    if (f != NULL) {
        f->n = 0;
        return rl_sft_files_add(f, value, err);
    }
    if (strncmp(key, "gym.", 4) == 0) {
        snprintf(pair, sizeof pair, "%s=%s", key, value);
        return rl_config_pair(&c->run, pair, source, err);
    }
    return kg_opts_set(rl_sft_options(), c, key, value, source, err);
}

enum kg_code rl_sft_config_pair(struct rl_sft_config *c, const char *pair, const char *source,
                                struct kg_err *err)
{
    char key[KG_OPT_KEY_MAX];
    const char *eq = strchr(pair, '=');
    size_t n = eq ? (size_t)(eq - pair) : 0;
    if (n == 0 || n >= sizeof key) {
        return kg_fail(err, KG_E_USAGE, "%s: `%.80s` is not key=value", source, pair);
    }
    memcpy(key, pair, n);
    key[n] = '\0';
    return set(c, key, eq + 1, source, err);
}

static enum kg_code set_list(struct rl_sft_config *c, const char *key, const struct kg_yaml *list,
                             const char *source, struct kg_err *err)
{
    struct rl_sft_files *f = files_of(c, key);
    if (f == NULL) {
        return kg_fail(err, KG_E_USAGE, "%s: `%s` is a list, not a value", source, key);
    }
    f->n = 0;
    for (const struct kg_yaml *y = list->child; y != NULL; y = y->next) {
        if (y->kind != KG_YAML_SCALAR) {
            return kg_fail(err, KG_E_USAGE, "%s: `%s` holds something that is no file", source,
                           key);
        }
        if (rl_sft_files_add(f, y->text, err) != KG_OK) {
            return err->code;
        }
    }
    return KG_OK;
}

/* Leaves of the tree, with the keys of the maps above them. */
static enum kg_code read_map(struct rl_sft_config *c, const struct kg_yaml *map, const char *above,
                             const char *path, struct kg_err *err)
{
    enum kg_code code = KG_OK;
    for (const struct kg_yaml *y = map->child; y != NULL && code == KG_OK; y = y->next) {
        char key[2 * KG_OPT_KEY_MAX], source[300];
        int n = snprintf(key, sizeof key, "%s%s%s", above, above[0] ? "." : "", y->key);
        snprintf(source, sizeof source, "%.250s:%d", path, y->line);
        code = n >= KG_OPT_KEY_MAX
                   ? kg_fail(err, KG_E_USAGE, "%s: no option `%.60s...`", source, key)
               : y->kind == KG_YAML_SCALAR ? set(c, key, y->text, source, err)
               : y->kind == KG_YAML_MAP    ? read_map(c, y, key, path, err)
                                           : set_list(c, key, y, source, err);
    }
    return code;
}

enum kg_code rl_sft_config_file(struct rl_sft_config *c, const char *path, struct kg_err *err)
{
    struct kg_arena arena;
    struct kg_buf text;
    struct kg_yaml *y;
    kg_arena_init(&arena, "configuration", 4u << 20);
    kg_buf_init(&text, 1u << 20);
    enum kg_code code = kg_file_read(path, &text, err);
    code = code != KG_OK ? code : kg_yaml_parse(text.data, text.len, path, 1, &arena, &y, err);
    if (code == KG_OK && y->kind != KG_YAML_MAP) {
        code = kg_fail(err, KG_E_INPUT, "%.300s: not a map of keys", path);
    }
    code = code != KG_OK ? code : read_map(c, y, "", path, err);
    kg_buf_deinit(&text);
    kg_arena_deinit(&arena);
    return code;
}

/* A text that YAML reads back: quotes and backslashes are escaped. */
static void dump_text(const char *text, struct kg_buf *out)
{
    kg_buf_addc(out, '"');
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') {
            kg_buf_addc(out, '\\');
        }
        kg_buf_addc(out, *text);
    }
    kg_buf_addc(out, '"');
}

static void dump_files(const char *key, const struct rl_sft_files *f, struct kg_buf *out)
{
    if (f->n > 0) {
        kg_buf_addf(out, "%s:\n", key);
    }
    for (size_t i = 0; i < f->n; i++) {
        kg_buf_adds(out, "  - ");
        dump_text(f->path[i], out);
        kg_buf_addc(out, '\n');
    }
}

void rl_sft_config_dump(const struct rl_sft_config *c, struct kg_buf *out)
{
    dump_files("data", &c->data, out);
    dump_files("valid", &c->valid, out);
    kg_opts_dump(rl_sft_options(), c, false, out);
    for (size_t i = 0; i < c->run.ngym; i++) {
        const char *eq = strchr(c->run.gym[i], '=');
        kg_buf_addf(out, "gym.%.*s: ", (int)(eq - c->run.gym[i]), c->run.gym[i]);
        dump_text(eq + 1, out);
        kg_buf_addc(out, '\n');
    }
}
