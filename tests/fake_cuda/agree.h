/* Our declarations beside the toolkit's, compiled by a child. Header only; cmocka is included
 * before it. */
#ifndef KG_TESTS_FAKE_CUDA_AGREE_H
#define KG_TESTS_FAKE_CUDA_AGREE_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Skips where the toolkit's header is missing. source: below tests/fake_cuda. */
static inline void expect_agreement(const char *header, const char *source)
{
    const char *include = "/usr/local/cuda/include", *tree = getenv("KGYM_TREE");
    char path[256], command[1024];
    snprintf(path, sizeof path, "%s/%s", include, header);
    if (access(path, R_OK) != 0) {
        printf("skip: no %s\n", path);
        skip();
    }
    tree = tree != NULL ? tree : ".";
    snprintf(command, sizeof command,
             "gcc -std=gnu17 -fsyntax-only -I%s/src -isystem %s -Werror %s/tests/fake_cuda/%s",
             tree, include, tree, source);
    assert_int_equal(system(command), 0);
}

#endif
