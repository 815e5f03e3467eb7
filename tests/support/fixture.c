#include "tests/support/fixture.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 256

static bool keep(char *out, size_t cap, const char *value)
{
    size_t n = strlen(value);
    if (n == 0 || n >= cap || out[0]) {
        return false;
    }
    memcpy(out, value, n + 1);
    return true;
}

/* One line of the block; false: unknown key, empty or repeated value. */
static bool take_line(struct fixture *f, char *line)
{
    const struct {
        const char *key;
        char *out;
        size_t cap;
    } fields[] = {
        {"problem", f->problem, sizeof f->problem}, {"entry", f->entry, sizeof f->entry},
        {"what", f->what, sizeof f->what},          {"control", f->control, sizeof f->control},
        {"expect", f->expect, sizeof f->expect},    {"equal", f->equal, sizeof f->equal},
        {"known", f->known, sizeof f->known},       {"twin", f->twin, sizeof f->twin},
    };
    char *colon = strstr(line, ": ");
    if (!colon) {
        return false;
    }
    *colon = 0;
    const char *value = colon + 2;
    if (strcmp(line, "needs") == 0 && strcmp(value, "timing") == 0) {
        return f->needs_timing = true;
    }
    if (strcmp(line, "harmless") == 0 && strcmp(value, "yes") == 0) {
        return f->harmless = true;
    }
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (strcmp(line, fields[i].key) == 0) {
            return keep(fields[i].out, fields[i].cap, value);
        }
    }
    return false;
}

static bool is_whole(const struct fixture *f)
{
    bool named = f->problem[0] && f->entry[0] && f->what[0] && f->expect[0];
    if (!f->hostile) {
        return named && f->twin[0] && !f->control[0] && strcmp(f->expect, "ok") == 0;
    }
    bool control = strcmp(f->control, "naive") == 0 || strcmp(f->control, "host escaped") == 0 ||
                   strcmp(f->control, "host down") == 0 || strcmp(f->control, "host compiler") == 0;
    bool ok = fixture_expects(f, "ok", NULL);
    return named && control && ok == f->harmless && f->harmless == (f->equal[0] != 0);
}

static bool read_block(struct fixture *f)
{
    FILE *in = fopen(f->path, "r");
    char line[512];
    bool good = in && fgets(line, sizeof line, in) && strcmp(line, "/*---fixture\n") == 0;
    while (good) {
        good = fgets(line, sizeof line, in) != NULL;
        if (!good) {
            break;
        }
        line[strcspn(line, "\n")] = 0;
        if (strcmp(line, "---*/") == 0) {
            break;
        }
        if (!take_line(f, line)) {
            fprintf(stderr, "%s: bad line `%s`\n", f->path, line);
            good = false;
        }
    }
    if (in) {
        fclose(in);
    }
    if (!good || !is_whole(f)) {
        fprintf(stderr, "%s: its block is malformed or lacks a field\n", f->path);
        return false;
    }
    return true;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct fixture *)a)->name, ((const struct fixture *)b)->name);
}

struct fixture *fixture_load(const char *tree, const char *kind, size_t *n)
{
    char folder[256];
    snprintf(folder, sizeof folder, "%.200s/tests/%.20s", tree, kind);
    DIR *d = opendir(folder);
    struct fixture *all = calloc(MOST, sizeof *all);
    bool good = d && all;
    *n = 0;
    for (struct dirent *e; good && (e = readdir(d)) != NULL;) {
        size_t len = strlen(e->d_name);
        if (len < 3 || strcmp(e->d_name + len - 2, ".c") != 0) {
            continue;
        }
        if (*n == MOST || len - 2 >= sizeof all->name) {
            fprintf(stderr, "%s: too many files, or `%s` is too long\n", folder, e->d_name);
            good = false;
            break;
        }
        struct fixture *f = &all[(*n)++];
        f->hostile = strcmp(kind, "hostile") == 0;
        snprintf(f->name, sizeof f->name, "%.*s", (int)(len - 2), e->d_name);
        snprintf(f->path, sizeof f->path, "%s/%s", folder, e->d_name);
        good = read_block(f);
    }
    if (d) {
        closedir(d);
    }
    if (!good) {
        free(all);
        return NULL;
    }
    qsort(all, *n, sizeof *all, by_name);
    return all;
}

bool fixture_expects(const struct fixture *f, const char *verdict, const char *reason)
{
    char want[96], copy[sizeof f->expect], *rest = NULL;
    snprintf(want, sizeof want, "%.40s%s%.40s", verdict, reason ? "/" : "", reason ? reason : "");
    snprintf(copy, sizeof copy, "%s", f->expect);
    for (char *w = strtok_r(copy, " ", &rest); w; w = strtok_r(NULL, " ", &rest)) {
        if (strcmp(w, want) == 0) {
            return true;
        }
    }
    return false;
}
