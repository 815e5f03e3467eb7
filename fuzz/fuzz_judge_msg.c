#include "fuzz.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gym/judge/state.h"

/* The judge's reader and everything behind it: the bytes are cut into requests, and what the check
 * lets through is served by a judge that has a small problem open, as in its own process. */

static const char source[] = "fuzz.c\0"
                             "/*---kgym\n"
                             "name: t\nlevel: 1\nentry: t\n"
                             "dims: {n: 9, m: 5}\n"
                             "args:\n"
                             "  - {name: x, type: \"f32[n,m]\", role: in}\n"
                             "  - {name: i, type: \"i32[n]\", role: in, range: [0, m]}\n"
                             "  - {name: y, type: \"f32[n]\", role: out}\n"
                             "  - {name: k, type: \"i64[n,m]\", role: out}\n"
                             "---*/\n"
                             "void t(const real *x) { (void)x; }\n";

static void open_problem(struct kg_judge_state *s)
{
    struct kg_judge_req req = {.magic = KG_JUDGE_MAGIC, .op = KG_JUDGE_OPEN, .fresh_regions = 1};
    struct kg_judge_rep rep;
    struct kg_err err = KG_ERR_INIT;
    struct kg_region r[KG_JUDGE_REGIONS];
    int fds[KG_JUDGE_FDS] = {memfd_create("fuzz", MFD_CLOEXEC)};
    req.text_bytes = sizeof source - 1;
    KG_ASSERT(write(fds[0], source, sizeof source - 1) == (ssize_t)sizeof source - 1);
    for (int k = 0; k < KG_JUDGE_REGIONS; k++) {
        KG_ASSERT(kg_region_create(k < 2 ? 32768 : 65536, k % 2 == 0, &r[k], &err) == KG_OK);
        req.region_bytes[k] = r[k].bytes;
        fds[1 + k] = dup(r[k].fd);
        kg_region_destroy(&r[k]);
    }
    KG_ASSERT(kg_judge_req_check(&req, sizeof req) == NULL);
    kg_judge_serve(s, &req, fds, KG_JUDGE_FDS, &rep);
    KG_ASSERT(rep.code == KG_OK);
}

static void check_reply(const struct kg_judge_req *req, const struct kg_judge_rep *rep)
{
    KG_ASSERT(kg_judge_rep_check(rep, sizeof *rep, req->op, req->seq) == NULL);
    KG_ASSERT((rep->code == KG_OK) == (rep->message[0] == '\0'));
    KG_ASSERT(rep->take.arg >= -1 && rep->take.arg < KG_MAX_ARGS);
    KG_ASSERT(rep->judgement.arg >= -1 && rep->judgement.arg < KG_MAX_ARGS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct kg_judge_state s;
    struct kg_judge_req req;
    struct kg_judge_rep rep;
    struct kg_err err = KG_ERR_INIT;
    KG_ASSERT(size == sizeof req || kg_judge_req_check(data, size) != NULL);
    (void)kg_judge_rep_check(data, size, KG_JUDGE_FILL, 1);
    KG_ASSERT(kg_judge_state_init(&s, &err) == KG_OK);
    open_problem(&s);
    for (size_t at = 0; at + sizeof req <= size && at < 32 * sizeof req; at += sizeof req) {
        if (kg_judge_req_check(data + at, sizeof req) == NULL) {
            memcpy(&req, data + at, sizeof req);
            kg_judge_serve(&s, &req, NULL, 0, &rep);
            check_reply(&req, &rep);
        }
    }
    kg_judge_state_deinit(&s);
    return 0;
}
