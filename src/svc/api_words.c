/* Words of a submission that are one of a kind. */
#include <string.h>

#include "svc/api_private.h"

enum { FILE_NAME_MAX = 120 };

bool kg_svc_is_file_name(const char *name)
{
    size_t n = strlen(name);
    const char *dot = strrchr(name, '.');
    return n <= FILE_NAME_MAX && name[0] != '.' && dot != NULL &&
           (strcmp(dot, ".c") == 0 || strcmp(dot, ".py") == 0) &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == n;
}

bool kg_svc_is_stage(const char *name)
{
    static const char *const stages[] = {"extract", "static", "compile", "tiny",
                                         "full",    "timing", "profile"};
    size_t i = 0, n = sizeof stages / sizeof *stages;
    while (i < n && strcmp(stages[i], name) != 0) {
        i++;
    }
    return i < n;
}
