/* The public calls of the judge: each becomes one request. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "gym/judge/client.h"

static enum kg_code create_regions(struct kg_judge *j, size_t in, size_t out, struct kg_err *err)
{
    kg_judge_drop_regions(j);
    j->opened = true;
    if (kg_region_create(in, true, &j->in, err) != KG_OK ||
        kg_region_create(out, false, &j->out, err) != KG_OK ||
        kg_region_create(2 * in, true, &j->wide_in, err) != KG_OK ||
        kg_region_create(2 * out, false, &j->wide_out, err) != KG_OK) {
        kg_judge_drop_regions(j);
        return err->code;
    }
    j->in_bytes = j->in.bytes;
    j->out_bytes = j->out.bytes;
    return KG_OK;
}

/* A memfd with the path, NUL and the source, which the judge reads. */
static enum kg_code problem_file(const struct kg_problem *p, int *fd, uint64_t *bytes,
                                 struct kg_err *err)
{
    size_t path = strlen(p->path) + 1;
    *fd = memfd_create("kgym-problem", MFD_CLOEXEC);
    if (*fd < 0) {
        return kg_fail(err, KG_E_HOST, "memfd_create for a problem failed: %s", strerror(errno));
    }
    *bytes = path + p->source_len;
    if (kg_file_write_all(*fd, p->path, path, err) != KG_OK ||
        kg_file_write_all(*fd, p->source, p->source_len, err) != KG_OK) {
        close(*fd);
        return err->code;
    }
    return KG_OK;
}

static void describe_regions(const struct kg_judge *j, struct kg_judge_req *req, int *fds)
{
    const struct kg_region *r[] = {&j->in, &j->out, &j->wide_in, &j->wide_out};
    for (int k = 0; k < KG_JUDGE_REGIONS; k++) {
        req->region_bytes[k] = r[k]->bytes;
        req->region_huge |= r[k]->huge ? 1u << k : 0;
        fds[k] = r[k]->fd;
    }
}

static size_t size_for(size_t asked, size_t have, uint64_t room)
{
    return asked > 0 ? asked : have > room ? have : (size_t)room;
}

enum kg_code kg_judge_open(struct kg_judge *j, const struct kg_problem *p, size_t in_bytes,
                           size_t out_bytes, struct kg_err *err)
{
    struct kg_judge_req req = {.op = KG_JUDGE_OPEN};
    struct kg_judge_rep rep;
    struct kg_shape s;
    struct kg_layout l;
    int fds[KG_JUDGE_FDS];
    kg_shape_default(p, &s);
    kg_layout_plan(p, &s, false, KG_JITTER_WIDEST, 0, 0, &l);
    size_t in = size_for(in_bytes, j->in_bytes, l.in_end);
    size_t out = size_for(out_bytes, j->out_bytes, l.out_end);
    if (in > j->in_bytes || out > j->out_bytes) {
        if (create_regions(j, in, out, err) != KG_OK) {
            return err->code;
        }
        req.fresh_regions = 1;
    }
    if (problem_file(p, &fds[0], &req.text_bytes, err) != KG_OK) {
        return err->code;
    }
    describe_regions(j, &req, fds + 1);
    enum kg_code code = kg_judge_ask(j, &req, fds, req.fresh_regions ? KG_JUDGE_FDS : 1, &rep, err);
    close(fds[0]);
    if (code == KG_OK && !(kg_region_sealed(&j->in) && kg_region_sealed(&j->wide_in))) {
        code = kg_fail(err, KG_E_GYM, "the judge left an input region unsealed");
    }
    if (code != KG_OK) {
        kg_judge_drop_regions(j); /* whether the judge has mapped them is unknown */
    }
    return code;
}

static struct kg_judge_req request(enum kg_judge_op op, const struct kg_case *c)
{
    struct kg_judge_req req = {.op = op};
    kg_judge_req_put_case(&req, c);
    return req;
}

enum kg_code kg_judge_fill(struct kg_judge *j, const struct kg_case *c, bool wide,
                           struct kg_err *err)
{
    struct kg_judge_req req = request(KG_JUDGE_FILL, c);
    struct kg_judge_rep rep;
    req.wide = wide;
    return kg_judge_ask(j, &req, NULL, 0, &rep, err);
}

enum kg_code kg_judge_flush(struct kg_judge *j, const struct kg_case *c, struct kg_err *err)
{
    struct kg_judge_req req = request(KG_JUDGE_FLUSH, c);
    struct kg_judge_rep rep;
    return kg_judge_ask(j, &req, NULL, 0, &rep, err);
}

enum kg_code kg_judge_take(struct kg_judge *j, const struct kg_case *c, enum kg_side side,
                           struct kg_take_report *out, struct kg_err *err)
{
    struct kg_judge_req req = request(KG_JUDGE_TAKE, c);
    struct kg_judge_rep rep;
    req.side = (uint32_t)side;
    enum kg_code code = kg_judge_ask(j, &req, NULL, 0, &rep, err);
    if (code == KG_OK) {
        *out = rep.take;
    }
    return code;
}

enum kg_code kg_judge_compare(struct kg_judge *j, const struct kg_case *c,
                              enum kg_compare_mode mode, struct kg_judgement *out,
                              struct kg_err *err)
{
    struct kg_judge_req req = request(KG_JUDGE_COMPARE, c);
    struct kg_judge_rep rep;
    req.mode = (uint32_t)mode;
    enum kg_code code = kg_judge_ask(j, &req, NULL, 0, &rep, err);
    if (code == KG_OK) {
        *out = rep.judgement;
    }
    return code;
}

enum kg_code kg_judge_self(struct kg_judge *j, const struct kg_case *c, struct kg_judgement *out,
                           struct kg_err *err)
{
    struct kg_judge_req req = request(KG_JUDGE_SELF, c);
    struct kg_judge_rep rep;
    enum kg_code code = kg_judge_ask(j, &req, NULL, 0, &rep, err);
    if (code == KG_OK) {
        *out = rep.judgement;
    }
    return code;
}

enum kg_code kg_judge_save(struct kg_judge *j, const struct kg_case *c, uint64_t number,
                           struct kg_err *err)
{
    struct kg_judge_req req = request(KG_JUDGE_SAVE, c);
    struct kg_judge_rep rep;
    req.number = number;
    return kg_judge_ask(j, &req, NULL, 0, &rep, err);
}

enum kg_code kg_judge_load(struct kg_judge *j, const struct kg_case *c, uint64_t number, bool *hit,
                           struct kg_err *err)
{
    struct kg_judge_req req = request(KG_JUDGE_LOAD, c);
    struct kg_judge_rep rep;
    req.number = number;
    enum kg_code code = kg_judge_ask(j, &req, NULL, 0, &rep, err);
    if (code == KG_OK) {
        *hit = rep.flag == 1;
    }
    return code;
}

enum kg_code kg_judge_floor(struct kg_judge *j, const struct kg_case *c, int64_t *ns,
                            struct kg_err *err)
{
    struct kg_judge_req req = request(KG_JUDGE_FLOOR, c);
    struct kg_judge_rep rep;
    enum kg_code code = kg_judge_ask(j, &req, NULL, 0, &rep, err);
    if (code == KG_OK) {
        *ns = rep.ns;
    }
    return code;
}

enum kg_code kg_judge_clear(struct kg_judge *j, struct kg_err *err)
{
    struct kg_judge_req req = {.op = KG_JUDGE_CLEAR};
    struct kg_judge_rep rep;
    return kg_judge_ask(j, &req, NULL, 0, &rep, err);
}
