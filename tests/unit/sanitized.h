/* Whether the build under test is a sanitized one. */
#ifndef KG_TESTS_SANITIZED_H
#define KG_TESTS_SANITIZED_H

#include <stdbool.h>
#include <string.h>

/* build: $KGYM_BUILD, whose last part is the variant; NULL is none. */
static inline bool is_sanitized(const char *build)
{
    static const char *const variants[] = {"/sanitize", "/asan", "/ubsan"};
    const char *variant = build ? strrchr(build, '/') : NULL;
    for (size_t i = 0; variant && i < sizeof variants / sizeof *variants; i++) {
        if (strcmp(variant, variants[i]) == 0) {
            return true;
        }
    }
    return false;
}

#endif
