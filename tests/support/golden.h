/* Texts that are kept below tests/fixtures. KGYM_UPDATE_GOLDEN=1 writes them anew, to be reviewed.
 * Header only; cmocka is included before it. */
#ifndef KG_TESTS_SUPPORT_GOLDEN_H
#define KG_TESTS_SUPPORT_GOLDEN_H

#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"

/* Fails the test unless got is what tests/fixtures/FOLDER/NAME.txt holds. */
static inline void golden_compare(const char *folder, const char *name, const struct kg_buf *got)
{
    char path[512];
    struct kg_err err = KG_ERR_INIT;
    struct kg_buf want;
    const char *tree = getenv("KGYM_TREE");
    snprintf(path, sizeof path, "%s/tests/fixtures/%s/%s.txt", tree != NULL ? tree : ".", folder,
             name);
    if (getenv("KGYM_UPDATE_GOLDEN") != NULL) {
        assert_int_equal(kg_file_write_atomic(path, got->data, got->len, &err), KG_OK);
    }
    kg_buf_init(&want, 1 << 20);
    if (kg_file_read(path, &want, &err) != KG_OK) {
        fail_msg("%s", err.message);
    }
    assert_string_equal(got->data, want.data);
    kg_buf_deinit(&want);
}

#endif
