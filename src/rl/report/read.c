/* Reads the folder of a run. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "rl/report/parts.h"

/* A number, the value of [value, low, high], or the sum of a longer array. NaN: none. */
static double number_of(const json_t *v)
{
    double sum = 0;
    size_t i;
    const json_t *x;
    if (json_is_number(v)) {
        return json_number_value(v);
    }
    if (json_is_boolean(v)) {
        return json_is_true(v);
    }
    json_array_foreach(v, i, x)
    {
        sum += json_is_number(x) ? json_number_value(x) : (double)NAN;
    }
    return json_array_size(v) == 3  ? json_number_value(json_array_get(v, 0))
           : json_array_size(v) > 0 ? sum
                                    : (double)NAN;
}

/* Numbers of a line, those of its objects as NAME.MEMBER. */
static void take_numbers(struct rl_columns *c, size_t at, const char *above, json_t *o, int depth)
{
    const char *key;
    json_t *v;
    json_object_foreach(o, key, v)
    {
        char name[RL_COLUMN_NAME];
        int n = snprintf(name, sizeof name, "%s%s%s", above, above[0] ? "." : "", key);
        double x = number_of(v);
        if (n >= (int)sizeof name) {
            continue;
        }
        if (json_is_object(v) && depth < 2) {
            take_numbers(c, at, name, v, depth + 1);
        } else if (isfinite(x)) {
            double *column = rl_columns_make(c, name);
            if (column != NULL) {
                column[at] = x;
            }
        }
    }
}

static void keep(json_t **slot, json_t *line)
{
    json_decref(*slot);
    *slot = json_incref(line);
}

/* False: its phase is not known. */
static bool take_metrics(struct rl_report *r, json_t *line)
{
    static const char *const evaluation[RL_WHENS] = {"eval-before", "", "eval-after"};
    const char *phase = rl_json_text(line, "phase");
    bool rl = strcmp(phase, "rl") == 0, sft = strcmp(phase, "sft") == 0;
    long step = rl_json_int(line, "step");
    if ((rl || sft) && step >= 0) {
        struct rl_columns *c = rl ? &r->columns : &r->sft_columns;
        size_t at = rl_columns_step(c, step);
        if (at != SIZE_MAX) {
            take_numbers(c, at, "", line, 0);
        }
        if (sft) {
            keep(&r->sft, line);
        }
        return true;
    }
    for (int i = 0; i < RL_WHENS; i++) {
        if (phase[0] != '\0' && strcmp(phase, evaluation[i]) == 0) {
            keep(&r->line[i], line);
            return true;
        }
    }
    json_t **slot = strcmp(phase, "end") == 0       ? &r->end
                    : strcmp(phase, "recheck") == 0 ? &r->recheck
                                                    : NULL;
    if (slot != NULL) {
        keep(slot, line);
    }
    return phase[0] != '\0'; /* a phase that is not shown is no fault */
}

static long read_metrics(struct rl_report *r)
{
    struct rl_lines l;
    json_t *line;
    long odd = 0;
    if (!rl_lines_open(&l, r->folder, "metrics.jsonl", &r->notes)) {
        return -1;
    }
    while ((line = rl_lines_next(&l)) != NULL) {
        odd += !take_metrics(r, line);
        json_decref(line);
    }
    if (odd > 0) {
        rl_note(&r->notes, "metrics.jsonl: %ld lines have no phase", odd);
    }
    rl_lines_close(&l);
    return l.used - odd;
}

static long read_walks(struct rl_report *r)
{
    struct rl_lines l;
    json_t *line;
    long odd = 0;
    if (!rl_lines_open(&l, r->folder, "trajectories.jsonl", &r->notes)) {
        return -1;
    }
    while ((line = rl_lines_next(&l)) != NULL) {
        if (rl_walks_add(&r->walks, line)) {
            rl_talks_offer(&r->talks, line, (uint64_t)l.number);
            rl_kernels_offer(&r->kernels, line);
        } else {
            odd++;
        }
        json_decref(line);
    }
    if (odd > 0) {
        rl_note(&r->notes, "trajectories.jsonl: %ld lines are no trajectories of a run", odd);
    }
    rl_lines_close(&l);
    rl_walks_columns(&r->walks, &r->columns);
    return l.used - odd;
}

/* A small file, whole. False: it is not there or too long. */
static bool read_text(const struct rl_report *r, const char *name, struct kg_buf *out)
{
    char path[4096];
    struct kg_err err = KG_ERR_INIT;
    snprintf(path, sizeof path, "%s/%s", r->folder, name);
    return kg_file_exists(path) && kg_file_read(path, out, &err) == KG_OK;
}

/* The object of a file, or the last one of its array: a resumed run adds to host.json. */
static json_t *read_object(struct rl_report *r, const char *name)
{
    struct kg_buf text;
    struct kg_err err = KG_ERR_INIT;
    json_t *j = NULL, *object = NULL;
    kg_buf_init(&text, 1u << 20);
    bool there = read_text(r, name, &text);
    if (there && kg_json_parse(text.data, text.len, name, &j, &err) == KG_OK) {
        object = json_is_array(j) ? json_array_get(j, json_array_size(j) - 1) : j;
        object = json_is_object(object) ? json_incref(object) : NULL;
    }
    if (there && object == NULL) {
        rl_note(&r->notes, "%s: no JSON object: left out", name);
    }
    json_decref(j);
    kg_buf_deinit(&text);
    return object;
}

static enum kg_code check(struct rl_report *r, long metrics, long walks, struct kg_err *err)
{
    if (metrics < 0 && walks < 0) {
        return kg_fail(err, KG_E_NOT_FOUND,
                       "%.300s: neither metrics.jsonl nor trajectories.jsonl is there; name the "
                       "folder of a run, as `kgym train --out` makes it",
                       r->folder);
    }
    if (metrics <= 0 && walks <= 0) {
        return kg_fail(err, KG_E_INPUT, "%.300s: %s", r->folder,
                       r->notes.n > 0 ? r->notes.text[0] : "its files have no lines");
    }
    if (r->end == NULL) {
        rl_note(&r->notes, "metrics.jsonl has no line `end`: the run goes on, or it was stopped");
    }
    enum kg_code code = KG_OK;
    for (int p = 0; p < RL_PARTS_SHOWN && code == KG_OK; p++) {
        code = rl_score_table(&r->walks, (enum rl_part)p, &r->table[p], err);
    }
    return code;
}

enum kg_code rl_report_open(const char *folder, struct rl_report **out, struct kg_err *err)
{
    struct stat st;
    *out = NULL;
    if (stat(folder, &st) != 0 || !S_ISDIR(st.st_mode) || strlen(folder) >= sizeof(*out)->folder) {
        return kg_fail(err, KG_E_NOT_FOUND, "%.300s: no such folder", folder);
    }
    struct rl_report *r = calloc(1, sizeof *r);
    if (r == NULL) {
        return kg_fail(err, KG_E_HOST, "report: no memory");
    }
    snprintf(r->folder, sizeof r->folder, "%s", folder);
    kg_buf_init(&r->config, 1u << 20);
    rl_kernels_init(&r->kernels);
    long metrics = read_metrics(r), walks = read_walks(r);
    if (!read_text(r, "config.yaml", &r->config)) {
        rl_note(&r->notes, "config.yaml: is not there, or is longer than 1 MB");
    }
    r->walks.apart = strstr(r->config.data, "\nfeedback: false\n") != NULL;
    r->host = read_object(r, "host.json");
    rl_columns_rates(&r->columns);
    json_t *again = read_object(r, "recheck.json");
    if (again != NULL) {
        json_decref(r->recheck);
        r->recheck = again;
    }
    if (check(r, metrics, walks, err) != KG_OK) {
        rl_report_close(r);
        return err->code;
    }
    *out = r;
    return KG_OK;
}

void rl_report_close(struct rl_report *r)
{
    if (r == NULL) {
        return;
    }
    kg_buf_deinit(&r->config);
    json_decref(r->host);
    for (int i = 0; i < RL_WHENS; i++) {
        json_decref(r->line[i]);
    }
    json_decref(r->sft);
    json_decref(r->end);
    json_decref(r->recheck);
    rl_columns_deinit(&r->sft_columns);
    rl_columns_deinit(&r->columns);
    rl_walks_deinit(&r->walks);
    rl_talks_deinit(&r->talks);
    rl_kernels_deinit(&r->kernels);
    free(r);
}
