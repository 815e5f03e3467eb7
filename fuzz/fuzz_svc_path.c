/* Paths of requests against patterns of routes. Whatever a path is, its segments and arguments lie
 * within their rooms; the rest of a path, split again, has the same segments. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "svc/http_private.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const patterns[] = {"/v1/evaluations", "/v1/evaluations/*", "/v1/*/*/records",
                                       "/results/**", "/"};

static void check_args(const char *const arg[KG_SVC_ARGS], const char *room, const char *args)
{
    for (int i = 0; i < KG_SVC_ARGS; i++) {
        bool inside = arg[i] == NULL || (arg[i] >= room && arg[i] < room + KG_SVC_PATH_MAX) ||
                      (arg[i] >= args && arg[i] < args + KG_SVC_PATH_MAX);
        KG_ASSERT(inside);
        KG_ASSERT(arg[i] == NULL || strlen(arg[i]) < KG_SVC_PATH_MAX);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char room[KG_SVC_PATH_MAX], again[KG_SVC_PATH_MAX], args[KG_SVC_PATH_MAX];
    const char *segment[KG_SVC_SEGMENTS], *same[KG_SVC_SEGMENTS], *arg[KG_SVC_ARGS];
    char *raw = malloc(size + 1);
    size_t n, m;
    KG_ASSERT(raw != NULL);
    memcpy(raw, data, size);
    raw[size] = '\0';
    if (kg_svc_path_split(raw, room, segment, &n)) {
        KG_ASSERT(n <= KG_SVC_SEGMENTS);
        bool plain = strchr(raw, '%') == NULL;
        for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
            bool fits = kg_svc_path_fits(patterns[i], segment, n, arg, args);
            check_args(arg, room, args);
            if (fits && plain && i == 3) {
                char whole[KG_SVC_PATH_MAX + 8];
                snprintf(whole, sizeof whole, "/%s", arg[0]);
                KG_ASSERT(kg_svc_path_split(whole, again, same, &m) && m + 1 == n);
                for (size_t k = 0; k < m; k++) {
                    KG_ASSERT(strcmp(same[k], segment[k + 1]) == 0);
                }
            }
        }
    }
    free(raw);
    return 0;
}
