/* The folder of a run of `kgym sft`, and going on in it. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "rl/sft/sft_parts.h"

#define MAX_YAML    (1u << 20)
#define MAX_METRICS (1u << 30)

void rl_sft_path(const struct rl_sft_state *s, enum rl_sft_file f, char out[4096])
{
    static const char *const names[] = {"config.yaml", "metrics.jsonl", "checkpoint", "model",
                                        "adapter"};
    snprintf(out, 4096, "%.4000s/%s", s->o->folder, names[f]);
}

static bool has(const struct rl_sft_state *s, enum rl_sft_file f)
{
    char path[4096];
    rl_sft_path(s, f, path);
    return kg_file_exists(path);
}

static enum rl_sft_file result_of(const struct rl_sft_state *s)
{
    return s->plan.adapter ? RL_SFT_ADAPTER : RL_SFT_MODEL;
}

/* Past the lines that say who judges: that changes no bit of a run, and a service may move. *line
 * counts them. */
static const char *skip_judge(const char *at, int *line)
{
    while (strncmp(at, "service:", 8) == 0 || strncmp(at, "token_file:", 11) == 0) {
        at += strcspn(at, "\n");
        at += *at == '\n';
        ++*line;
    }
    return at;
}

/* The first line of a in which two configurations differ; 0: they are the same. */
static int differing_line(const char *a, const char *b)
{
    for (int line = 1, ignored = 0;; line++) {
        a = skip_judge(a, &line);
        b = skip_judge(b, &ignored);
        size_t n = strcspn(a, "\n"), m = strcspn(b, "\n");
        if (n != m || memcmp(a, b, n) != 0 || a[n] != b[m]) {
            return line;
        }
        if (a[n] == '\0') {
            return 0;
        }
        a += n + 1;
        b += m + 1;
    }
}

static enum kg_code same_config(const struct rl_sft_state *s, struct kg_err *err)
{
    char path[4096];
    struct kg_buf there, here;
    rl_sft_path(s, RL_SFT_YAML, path);
    kg_buf_init(&there, MAX_YAML);
    kg_buf_init(&here, MAX_YAML);
    enum kg_code code = kg_file_read(path, &there, err);
    rl_sft_config_dump(s->c, &here);
    int line = code == KG_OK ? differing_line(there.data, here.data) : 0;
    if (line > 0) {
        code = kg_fail(err, KG_E_USAGE,
                       "%.300s:%d: this run has another configuration; name a new folder, or give "
                       "--resume with --out alone",
                       path, line);
    }
    kg_buf_deinit(&there);
    kg_buf_deinit(&here);
    return code;
}

static enum kg_code check_new(const struct rl_sft_state *s, struct kg_err *err)
{
    return has(s, RL_SFT_YAML) || has(s, RL_SFT_METRICS)
               ? kg_fail(err, KG_E_USAGE,
                         "%.300s: holds a run already (name a new folder, or --resume)",
                         s->o->folder)
               : KG_OK;
}

enum kg_code rl_sft_look(struct rl_sft_state *s, bool *ended, struct kg_err *err)
{
    char path[4096];
    *ended = false;
    rl_sft_path(s, RL_SFT_YAML, path);
    if (strlen(s->o->folder) > 4000) {
        return kg_fail(err, KG_E_USAGE, "--out: the path is too long");
    }
    if (!s->o->resume) {
        return check_new(s, err);
    }
    if (!has(s, RL_SFT_YAML)) {
        return kg_fail(err, KG_E_USAGE, "%.300s: holds no run to resume: %.300s is not there",
                       s->o->folder, path);
    }
    if (kg_file_lock_folder(s->o->folder, &s->lock, err) != KG_OK || same_config(s, err) != KG_OK) {
        return err->code;
    }
    rl_sft_path(s, RL_SFT_CHECKPOINT, path);
    if (lm_checkpoint_recover(path, err) != KG_OK) {
        return err->code;
    }
    *ended = has(s, result_of(s));
    s->goes_on = has(s, RL_SFT_CHECKPOINT);
    return KG_OK;
}

/* A folder of a new run is made and locked when its data are known to be good. Another process may
 * have been faster. */
static enum kg_code take_new(struct rl_sft_state *s, struct kg_err *err)
{
    enum kg_code code = kg_file_mkdirs(s->o->folder, 0777, err);
    code = code != KG_OK ? code : kg_file_lock_folder(s->o->folder, &s->lock, err);
    return code != KG_OK ? code : check_new(s, err);
}

/* --- metrics --- */

/* What was read, and lines up to the checkpoint; later ones come again. */
static enum kg_code keep_lines(const struct rl_sft_state *s, const char *path, struct kg_err *err)
{
    struct kg_buf text, kept;
    kg_buf_init(&text, MAX_METRICS);
    kg_buf_init(&kept, MAX_METRICS);
    enum kg_code code = kg_file_exists(path) ? kg_file_read(path, &text, err) : KG_OK;
    for (size_t at = 0; code == KG_OK && at < text.len;) {
        const char *end = memchr(text.data + at, '\n', text.len - at);
        size_t n = end != NULL ? (size_t)(end - text.data) - at + 1 : text.len - at;
        json_t *j = json_loadb(text.data + at, n, 0, NULL);
        const json_t *step = json_object_get(j, "step");
        bool whole = end != NULL && j != NULL; /* a crash may have left half of the last one */
        if (s->goes_on && whole && (step == NULL || json_integer_value(step) <= s->from.step)) {
            kg_buf_add(&kept, text.data + at, n);
        }
        json_decref(j);
        at += n;
    }
    code = code != KG_OK ? code : kg_file_write_atomic(path, kept.data, kept.len, err);
    kg_buf_deinit(&text);
    kg_buf_deinit(&kept);
    return code;
}

enum kg_code rl_sft_log(struct rl_sft_state *s, json_t *line, struct kg_err *err)
{
    struct kg_buf text;
    kg_buf_init(&text, MAX_YAML);
    kg_json_dump(line, &text);
    json_decref(line);
    bool ok = fprintf(s->metrics, "%s\n", text.data) > 0 && fflush(s->metrics) == 0;
    kg_buf_deinit(&text);
    return ok ? KG_OK : kg_fail(err, KG_E_IO, "metrics.jsonl: cannot write: %s", strerror(errno));
}

/* What a killed run was writing: checkpoint.tmp.PID and the like. */
static enum kg_code remove_halves(const char *folder, struct kg_err *err)
{
    char path[4096 + 300];
    enum kg_code code = KG_OK;
    DIR *d = opendir(folder);
    for (struct dirent *e; d != NULL && code == KG_OK && (e = readdir(d)) != NULL;) {
        if (strstr(e->d_name, ".tmp.") != NULL) {
            snprintf(path, sizeof path, "%.4000s/%s", folder, e->d_name);
            code = kg_file_remove_tree(path, err);
        }
    }
    if (d != NULL) {
        closedir(d);
    }
    return code;
}

enum kg_code rl_sft_open_folder(struct rl_sft_state *s, struct kg_err *err)
{
    char path[4096];
    struct kg_buf text;
    kg_buf_init(&text, MAX_YAML);
    rl_sft_config_dump(s->c, &text);
    enum kg_code code = s->o->resume ? remove_halves(s->o->folder, err) : take_new(s, err);
    rl_sft_path(s, RL_SFT_YAML, path);
    code = code != KG_OK ? code : kg_file_write_atomic(path, text.data, text.len, err);
    kg_buf_deinit(&text);
    rl_sft_path(s, RL_SFT_METRICS, path);
    code = code != KG_OK ? code : keep_lines(s, path, err);
    if (code != KG_OK) {
        return code;
    }
    s->metrics = fopen(path, "ae");
    if (s->metrics == NULL) {
        return kg_fail(err, KG_E_IO, "%.300s: cannot write: %s", path, strerror(errno));
    }
    return s->goes_on ? KG_OK : rl_sft_log(s, json_incref(s->report), err);
}

/* --- checkpoints --- */

enum kg_code rl_sft_save(struct rl_sft_state *s, const struct rl_sft_stats *at, struct kg_err *err)
{
    char path[4096];
    const char *from = s->plan.fresh ? NULL : s->c->from;
    json_t *run = json_pack("{s:s,s:i,s:I,s:I,s:I,s:I,s:I,s:I,s:f}", "data", s->hash, "step",
                            at->step, "epoch", (json_int_t)at->epoch, "at", (json_int_t)at->at,
                            "tokens", (json_int_t)at->tokens, "trained", (json_int_t)at->trained,
                            "skipped", (json_int_t)at->skipped, "left_out",
                            (json_int_t)at->left_out, "seconds", at->seconds);
    rl_sft_path(s, RL_SFT_CHECKPOINT, path);
    enum kg_code code = rl_source_save(path, s->model, s->trainer, &s->talker, from, run, err);
    json_decref(run);
    return code;
}

static uint64_t count_in(const json_t *run, const char *key, bool *ok)
{
    const json_t *v = json_object_get(run, key);
    *ok = *ok && json_is_integer(v) && json_integer_value(v) >= 0;
    return *ok ? (uint64_t)json_integer_value(v) : 0;
}

enum kg_code rl_sft_go_on(struct rl_sft_state *s, struct kg_err *err)
{
    char path[4096];
    json_t *run = NULL;
    bool ok = true;
    rl_sft_path(s, RL_SFT_CHECKPOINT, path);
    if (lm_checkpoint_resume(path, s->trainer, &run, err) != KG_OK) {
        return err->code;
    }
    const char *data = json_string_value(json_object_get(run, "data"));
    const json_t *seconds = json_object_get(run, "seconds");
    s->from = (struct rl_sft_stats){.step = (int)count_in(run, "step", &ok),
                                    .epoch = (uint32_t)count_in(run, "epoch", &ok),
                                    .at = (uint32_t)count_in(run, "at", &ok),
                                    .tokens = count_in(run, "tokens", &ok),
                                    .trained = count_in(run, "trained", &ok),
                                    .skipped = count_in(run, "skipped", &ok),
                                    .left_out = count_in(run, "left_out", &ok),
                                    .seconds = json_number_value(seconds)};
    enum kg_code code =
        data != NULL && strcmp(data, s->hash) != 0
            ? kg_fail(err, KG_E_INPUT, "%.300s: its run had other training data", path)
        : !ok || data == NULL || s->from.at > s->train.n
            ? kg_fail(err, KG_E_INPUT, "%.300s: does not say where its run was", path)
            : KG_OK;
    json_decref(run);
    return code;
}

enum kg_code rl_sft_finish(struct rl_sft_state *s, struct kg_err *err)
{
    char path[4096];
    const char *from = s->plan.fresh ? NULL : s->c->from;
    rl_sft_path(s, result_of(s), path);
    if (rl_source_save(path, s->model, NULL, &s->talker, from, NULL, err) != KG_OK) {
        return err->code;
    }
    fprintf(s->o->terminal, "wrote %s\n", path);
    rl_sft_path(s, RL_SFT_CHECKPOINT, path);
    return lm_checkpoint_remove(path, err);
}
