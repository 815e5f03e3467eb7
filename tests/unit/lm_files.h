/* Goldens and temporary folders for the tests of src/lm/io and src/lm/tok. */
#ifndef KG_TESTS_LM_FILES_H
#define KG_TESTS_LM_FILES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

/* tests/goldens/NAME. */
static inline const char *golden(const char *name)
{
    static char path[4][4096];
    static int turn;
    const char *tree = getenv("KGYM_TREE");
    char *out = path[turn++ % 4];
    snprintf(out, sizeof path[0], "%s/tests/goldens/%s", tree == NULL ? "." : tree, name);
    return out;
}

/* A whole file; the caller deinits. */
static inline struct kg_buf whole(const char *path)
{
    struct kg_buf b;
    struct kg_err err = KG_ERR_INIT;
    kg_buf_init(&b, 64 << 20);
    if (kg_file_read(path, &b, &err) != KG_OK) {
        fprintf(stderr, "%s\n", err.message);
        abort();
    }
    return b;
}

static inline int new_folder(void **state)
{
    const char *base = getenv("TMPDIR");
    char name[4096];
    snprintf(name, sizeof name, "%s/kgym-lm-XXXXXX", base == NULL ? "/tmp" : base);
    *state = mkdtemp(name) == NULL ? NULL : strdup(name);
    return *state == NULL;
}

static inline int drop_folder(void **state)
{
    struct kg_err err = KG_ERR_INIT;
    int bad = kg_file_remove_tree(*state, &err) != KG_OK;
    free(*state);
    return bad;
}

/* FOLDER/NAME. */
static inline const char *in_folder(void *const *state, const char *name)
{
    static char path[4][4096];
    static int turn;
    char *out = path[turn++ % 4];
    snprintf(out, sizeof path[0], "%s/%s", (const char *)*state, name);
    return out;
}

static inline void put_file(const char *path, const void *bytes, size_t n)
{
    struct kg_err err = KG_ERR_INIT;
    if (kg_file_write_atomic(path, bytes, n, &err) != KG_OK) {
        fprintf(stderr, "%s\n", err.message);
        abort();
    }
}

#endif
