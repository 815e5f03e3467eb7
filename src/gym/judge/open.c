/* Opens a problem: reads its text from a descriptor, maps the regions, and wipes what the last
 * problem left. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gym/judge/state.h"

/* The descriptor's contents: path, NUL, source. */
static enum kg_code read_problem(int fd, size_t bytes, struct kg_problem **out, struct kg_err *err)
{
    char *text = malloc(bytes);
    size_t got = 0;
    if (text == NULL) {
        return kg_fail(err, KG_E_HOST, "judge: no memory for a problem of %zu bytes", bytes);
    }
    while (got < bytes) {
        ssize_t n = pread(fd, text + got, bytes - got, (off_t)got);
        if (n <= 0) {
            break;
        }
        got += (size_t)n;
    }
    char *end = memchr(text, '\0', got);
    enum kg_code code;
    if (got < bytes || end == NULL) {
        code = kg_fail(err, KG_E_GYM, "judge: the problem's text did not arrive");
    } else {
        size_t skip = (size_t)(end - text) + 1;
        code = kg_problem_parse(end + 1, bytes - skip, text, out, err);
    }
    free(text);
    return code;
}

static enum kg_code adopt_regions(struct kg_judge_state *s, const struct kg_judge_req *req,
                                  int *fds, struct kg_err *err)
{
    for (int k = 0; k < KG_JUDGE_REGIONS; k++) {
        kg_region_destroy(&s->region[k]);
        s->dirty[k] = 0;
    }
    for (int k = 0; k < KG_JUDGE_REGIONS; k++) {
        bool input = k % 2 == 0, narrow = k < 2;
        s->region[k] = (struct kg_region){.fd = fds[k],
                                          .runner_fd = fds[k],
                                          .bytes = req->region_bytes[k],
                                          .huge = (req->region_huge >> k & 1) == 1};
        fds[k] = -1;
        /* only the narrow regions are timed, so only they are touched before */
        if (kg_region_map(&s->region[k], input, narrow, err) != KG_OK) {
            return err->code;
        }
    }
    return KG_OK;
}

/* Wipes the regions: a problem must not find inputs or answers of the one before. */
static void wipe(struct kg_judge_state *s)
{
    for (int k = 0; k < KG_JUDGE_REGIONS; k++) {
        if (s->region[k].map != NULL) {
            memset(s->region[k].map, 0, s->dirty[k]);
        }
        s->dirty[k] = 0;
    }
}

static void forget(struct kg_judge_state *s)
{
    kg_problem_destroy(s->problem);
    s->problem = NULL;
    s->bound_there = false;
    s->inputs_there = false;
    memset(s->live, 0, sizeof s->live);
    memset(s->known, 0, sizeof s->known);
    memset(&s->answers, 0, sizeof s->answers);
    memset(&s->expected, 0, sizeof s->expected);
    for (int k = 0; k < KG_SIDE_COUNT; k++) {
        kg_judge_side_deinit(&s->side[k]);
    }
}

enum kg_code kg_judge_do_open(struct kg_judge_state *s, const struct kg_judge_req *req, int *fds,
                              int nfds, struct kg_err *err)
{
    struct kg_problem *p = NULL;
    int wanted = req->fresh_regions ? KG_JUDGE_FDS : 1;
    if (nfds != wanted) {
        return kg_fail(err, KG_E_GYM, "judge: open came with %d descriptors, not %d", nfds, wanted);
    }
    forget(s);
    wipe(s);
    if (read_problem(fds[0], req->text_bytes, &p, err) != KG_OK) {
        return err->code;
    }
    if (req->fresh_regions && adopt_regions(s, req, fds + 1, err) != KG_OK) {
        kg_problem_destroy(p);
        return err->code;
    }
    for (int k = 0; k < KG_JUDGE_REGIONS; k++) {
        if (s->region[k].map == NULL) {
            kg_problem_destroy(p);
            return kg_fail(err, KG_E_GYM, "judge: open came without regions");
        }
    }
    s->problem = p;
    return KG_OK;
}
