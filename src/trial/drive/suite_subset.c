/* Keeps a part of a suite: problems that a seed draws, or those that a file names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "trial/drive/suite.h"
#include "trial/drive/suite_list.h"

/* Drops all that are not kept. keep [n] */
static void keep_only(struct tr_suite *s, const bool *keep)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (keep[i]) {
            s->problem[n++] = s->problem[i];
        } else {
            free(s->problem[i].name);
            free(s->problem[i].problem);
        }
    }
    s->n = n;
}

struct rank {
    char hash[KG_SHA256_HEX];
    size_t at;
};

static int by_hash(const void *a, const void *b)
{
    const struct rank *x = a, *y = b;
    return strcmp(x->hash, y->hash);
}

/* The n problems whose names hash lowest with the seed. */
static enum kg_code draw(struct tr_suite *s, size_t n, const char *seed, bool *keep,
                         struct kg_err *err)
{
    struct rank *rank = malloc(s->n * sizeof *rank);
    if (rank == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "no memory for a part of a suite");
    }
    for (size_t i = 0; i < s->n; i++) {
        struct kg_sha256 h;
        kg_sha256_begin(&h);
        kg_sha256_part(&h, seed, strlen(seed));
        kg_sha256_part(&h, s->problem[i].name, strlen(s->problem[i].name));
        kg_sha256_end(&h, rank[i].hash);
        rank[i].at = i;
    }
    qsort(rank, s->n, sizeof *rank, by_hash);
    for (size_t i = 0; i < n && i < s->n; i++) {
        keep[rank[i].at] = true;
    }
    free(rank);
    return KG_OK;
}

static enum kg_code keep_name(struct tr_suite *s, const char *source, const char *name, bool *keep,
                              struct kg_err *err)
{
    for (size_t i = 0; i < s->n; i++) {
        if (strcmp(s->problem[i].name, name) == 0) {
            keep[i] = true;
            return KG_OK;
        }
    }
    return kg_fail(err, KG_E_NOT_FOUND, "%s: the suite has no problem `%.100s`", source, name);
}

static enum kg_code keep_names(struct tr_suite *s, const char *file, bool *keep, struct kg_err *err)
{
    struct kg_buf text;
    kg_buf_init(&text, 16u << 20);
    enum kg_code code = kg_file_read(file, &text, err);
    char *rest = text.data;
    for (int number = 1; code == KG_OK && rest != NULL; number++) {
        char source[400], *line = strsep(&rest, "\n");
        snprintf(source, sizeof source, "%.360s:%d", file, number);
        line[strcspn(line, "\r")] = '\0';
        line += strspn(line, " \t");
        char *comment = line[0] == '#' ? line : strstr(line, " #");
        if (comment != NULL) {
            *comment = '\0';
        }
        for (size_t n = strlen(line); n > 0 && (line[n - 1] == ' ' || line[n - 1] == '\t');) {
            line[--n] = '\0';
        }
        code = line[0] != '\0' ? keep_name(s, source, line, keep, err) : KG_OK;
    }
    kg_buf_deinit(&text);
    return code;
}

enum kg_code tr_suite_subset(struct tr_suite *s, const char *subset, struct kg_err *err)
{
    int n;
    if (subset == NULL || subset[0] == '\0') {
        return KG_OK;
    }
    const char *at = tr_suite_number(subset, &n);
    bool drawn =
        at != NULL && *at == '@' && at[1] != '\0' && strspn(at + 1, "0123456789") == strlen(at + 1);
    if (!drawn && !kg_file_exists(subset)) {
        return kg_fail(err, KG_E_USAGE,
                       "subset `%.100s`: neither N@SEED, such as 20@1, nor a file of names",
                       subset);
    }
    bool *keep = calloc(s->n + 1, sizeof *keep);
    if (keep == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "no memory for a part of a suite");
    }
    enum kg_code code =
        drawn ? draw(s, (size_t)n, at + 1, keep, err) : keep_names(s, subset, keep, err);
    if (code == KG_OK) {
        keep_only(s, keep);
        code = s->n > 0 ? KG_OK : kg_fail(err, KG_E_USAGE, "%.200s: it names no problem", subset);
    }
    free(keep);
    return code;
}
