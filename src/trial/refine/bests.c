/* Takes the code of each best from its record, and keeps what changed. */
#include "trial/refine/bests.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "trial/refine/drive_maker.h"
#include "trial/refine/line_diff.h"

#define CODE_MAX   ((size_t)1 << 22)
#define RECORD_MAX ((size_t)1 << 26)
#define DIFF_MAX   ((size_t)1 << 26)

struct tr_bests {
    char *code;    /* of the last one; NULL: none */
    char *record;  /* of judging it again; NULL: the folder may have it */
    char hash[65]; /* of that record */
    char name[64], file[16];
    struct kg_buf diffs;
};

enum kg_code tr_bests_create(struct tr_bests **out, struct kg_err *err)
{
    struct tr_bests *b = *out = calloc(1, sizeof *b);
    if (b == NULL) {
        return kg_fail(err, KG_E_HOST, "best kernel: no memory");
    }
    kg_buf_init(&b->diffs, DIFF_MAX);
    return KG_OK;
}

void tr_bests_destroy(struct tr_bests *b)
{
    if (b != NULL) {
        kg_buf_deinit(&b->diffs);
        free(b->code);
        free(b->record);
        free(b);
    }
}

static enum kg_code take(struct tr_bests *b, const char *code, const char *language,
                         const struct tr_round *r, struct kg_err *err)
{
    char name[64];
    char *copy = strndup(code, CODE_MAX);
    char *record = r->again.record != NULL ? strdup(r->again.record) : NULL;
    if (copy == NULL || (r->again.record != NULL && record == NULL)) {
        free(copy);
        free(record);
        return kg_fail(err, KG_E_HOST, "best kernel: no memory");
    }
    snprintf(name, sizeof name, "round %d, %.4gx", r->round, r->again.speedup);
    if (b->code != NULL) {
        tr_line_diff(b->name, b->code, name, copy, &b->diffs);
    }
    free(b->code);
    free(b->record);
    b->code = copy;
    b->record = record;
    snprintf(b->hash, sizeof b->hash, "%s", r->again.record_hash);
    snprintf(b->name, sizeof b->name, "%s", name);
    snprintf(b->file, sizeof b->file, "best.%s", strcmp(language, "c") == 0 ? "c" : "py");
    return KG_OK;
}

enum kg_code tr_bests_add(struct tr_bests *b, const struct tr_round *r, struct kg_err *err)
{
    const struct tr_turn *t = r->result;
    json_t *record = NULL;
    if (kg_json_parse(t->record, t->record_len, "record", &record, err) != KG_OK) {
        return err->code;
    }
    const json_t *candidate = json_object_get(record, "candidate");
    const char *code = json_string_value(json_object_get(candidate, "code"));
    const char *language = json_string_value(json_object_get(candidate, "language"));
    enum kg_code result =
        code == NULL || language == NULL
            ? kg_fail(err, KG_E_INPUT, "round %d: its record has no code", r->round)
            : take(b, code, language, r, err);
    json_decref(record);
    return result;
}

/* Is best.record.json the record with this hash? Yes, where nobody knows its hash. */
static bool is_there(const char *path, const char *hash)
{
    struct kg_err unused = KG_ERR_INIT;
    struct tr_again a = {.judged = false};
    struct kg_buf text;
    kg_buf_init(&text, RECORD_MAX);
    if (kg_file_read(path, &text, &unused) == KG_OK) {
        tr_again_read(text.data, text.len, &a);
    }
    kg_buf_deinit(&text);
    return hash[0] == '\0' || strcmp(a.record_hash, hash) == 0;
}

/* The record of a best that a process before this one judged again. One that was interrupted may
 * not have written it; then that of another kernel must not stand beside best.c. */
static enum kg_code check_record(const struct tr_bests *b, const struct tr_folder *f,
                                 struct kg_err *err)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/best.record.json", tr_folder_path(f));
    if (is_there(path, b->hash) || unlink(path) == 0 || errno == ENOENT) {
        return KG_OK;
    }
    return kg_fail(err, KG_E_IO, "%s: cannot remove: %s", path, strerror(errno));
}

enum kg_code tr_bests_write(const struct tr_bests *b, struct tr_folder *f, struct kg_err *err)
{
    if (b->code == NULL) {
        return KG_OK;
    }
    if (tr_folder_write(f, b->file, b->code, strlen(b->code), err) != KG_OK ||
        tr_folder_write(f, "bests.diff", b->diffs.data, b->diffs.len, err) != KG_OK) {
        return err->code;
    }
    return b->record == NULL
               ? check_record(b, f, err)
               : tr_folder_write(f, "best.record.json", b->record, strlen(b->record), err);
}

const char *tr_bests_file(const struct tr_bests *b)
{
    return b->file;
}
