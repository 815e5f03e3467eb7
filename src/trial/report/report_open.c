/* Opens a trial's folder for its report: the kind of the run, its turns, its tables or rounds. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "trial/report/report_turns.h"

enum { SMALL = 16 << 20 }; /* bytes of run.json and best.record.json */

static json_t *read_object(const char *folder, const char *name, struct kg_err *err)
{
    char path[4096];
    struct kg_buf text;
    json_t *j = NULL;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    kg_buf_init(&text, SMALL);
    bool ok = kg_file_read(path, &text, err) == KG_OK &&
              kg_json_parse(text.data, text.len, path, &j, err) == KG_OK;
    kg_buf_deinit(&text);
    if (ok && !json_is_object(j)) {
        json_decref(j);
        j = NULL;
        kg_fail(err, KG_E_INPUT, "%.300s: must be a JSON object", path);
    }
    return j;
}

bool tr_report_is(const char *folder)
{
    char path[4096];
    return snprintf(path, sizeof path, "%s/run.json", folder) < (int)sizeof path &&
           kg_file_exists(path);
}

double tr_report_real(const json_t *o, const char *key)
{
    double x = rl_json_real(o, key);
    return fabs(x) < 1e12 ? x : (double)NAN;
}

static enum kg_code open_run(struct tr_report *r, struct kg_err *err)
{
    struct stat st;
    if (stat(r->folder, &st) != 0 || !S_ISDIR(st.st_mode)) {
        return kg_fail(err, KG_E_NOT_FOUND, "%.300s: no such folder", r->folder);
    }
    r->run = read_object(r->folder, "run.json", err);
    if (r->run == NULL) {
        return err->code;
    }
    const char *kind = rl_json_text(r->run, "kind");
    r->refine = strcmp(kind, "refine") == 0;
    if (!r->refine && strcmp(kind, "bench") != 0) {
        return kg_fail(err, KG_E_USAGE,
                       "%.300s/run.json: kind `%.40s` is no trial; name the folder of `kgym bench` "
                       "or `kgym refine`",
                       r->folder, kind);
    }
    return KG_OK;
}

/* A file that may lack; NULL, with a note, also where it is no object. */
static json_t *read_optional(struct tr_report *r, const char *name)
{
    char path[4096];
    struct kg_err err = KG_ERR_INIT;
    snprintf(path, sizeof path, "%s/%s", r->folder, name);
    json_t *j = kg_file_exists(path) ? read_object(r->folder, name, &err) : NULL;
    if (j == NULL && err.code != KG_OK) {
        rl_note(&r->notes, "%.230s", err.message);
    }
    return j;
}

static void open_rounds(struct tr_report *r)
{
    struct rl_lines l;
    json_t *line;
    r->rounds = json_array();
    if (rl_lines_open(&l, r->folder, "rounds.jsonl", &r->notes)) {
        while ((line = rl_lines_next(&l)) != NULL) {
            json_array_append_new(r->rounds, line);
        }
        rl_lines_close(&l);
    }
    r->again = read_optional(r, "best.record.json");
    r->ending = read_optional(r, "summary.json");
}

bool tr_report_same_place(const char *a, const char *b)
{
    size_t place = strcspn(b, ":");
    place += b[place] == ':' ? 1 + strcspn(b + place + 1, ":") : 0;
    return strncmp(a, b, place) == 0;
}

/* Both passes over the files name a broken line. */
static void note_once(struct rl_notes *notes, const char *text)
{
    for (int i = 0; i < notes->n; i++) {
        if (tr_report_same_place(notes->text[i], text)) {
            return;
        }
    }
    rl_note(notes, "%.230s", text);
}

static enum kg_code open_tables(struct tr_report *r, struct kg_err *err)
{
    long seed = rl_json_int(r->run, "seed");
    const struct tr_tables_options o = {.seed = seed > 0 ? (uint64_t)seed : 0};
    if (tr_bench_read(r->folder, &r->bench, err) != KG_OK) {
        return err->code;
    }
    r->has_bench = true;
    for (int i = 0; i < TR_BENCH_NOTES && r->bench.note[i] != NULL; i++) {
        note_once(&r->notes, r->bench.note[i]);
    }
    enum kg_code code = tr_tables_make(&r->bench, &o, &r->tables, err);
    r->has_tables = code == KG_OK;
    return code;
}

enum kg_code tr_report_open(const char *folder, struct tr_report **out, struct kg_err *err)
{
    *out = NULL;
    struct tr_report *r = calloc(1, sizeof *r);
    if (r == NULL) {
        return kg_fail(err, KG_E_HOST, "report: no memory");
    }
    if (snprintf(r->folder, sizeof r->folder, "%s", folder) >= (int)sizeof r->folder) {
        free(r);
        return kg_fail(err, KG_E_USAGE, "the folder's path is too long");
    }
    enum kg_code code = open_run(r, err);
    code = code == KG_OK ? tr_report_turns(r, err) : code;
    if (code == KG_OK && r->refine) {
        open_rounds(r);
    } else if (code == KG_OK) {
        code = open_tables(r, err);
    }
    if (code != KG_OK) {
        tr_report_close(r);
        return code;
    }
    *out = r;
    return KG_OK;
}

void tr_report_close(struct tr_report *r)
{
    if (r == NULL) {
        return;
    }
    tr_report_turns_free(r);
    if (r->has_tables) {
        tr_tables_deinit(&r->tables);
    }
    if (r->has_bench) {
        tr_bench_deinit(&r->bench);
    }
    json_decref(r->rounds);
    json_decref(r->again);
    json_decref(r->ending);
    json_decref(r->run);
    free(r);
}
