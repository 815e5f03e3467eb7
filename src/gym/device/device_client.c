/* The broker's side of the judge of tensors: each public call becomes one request. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "gym/device/device_client.h"

static enum kg_code ask(struct kg_dj *j, struct kg_djm_req *req, int fd, struct kg_djm_rep *rep,
                        int got[KG_MESSAGE_FDS], struct kg_err *err)
{
    return kg_dj_ask(j, req, fd, NULL, rep, got, err);
}

static enum kg_code tell(struct kg_dj *j, struct kg_djm_req *req, struct kg_err *err)
{
    struct kg_djm_rep rep;
    int none[KG_MESSAGE_FDS];
    return ask(j, req, -1, &rep, none, err);
}

/* Replaces a descriptor by a read-only one of the same memory. So the runner cannot write through
 * it, even before the seals take effect. Without /proc the seals alone protect the region. */
static void read_only(int *fd)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", *fd);
    int ro = open(path, O_RDONLY | O_CLOEXEC);
    if (ro >= 0) {
        close(*fd);
        *fd = ro;
    }
}

/* Checks the regions of the host device: their size is sealed, and IN cannot be mapped for
 * writing. */
static enum kg_code check_fds(const struct kg_dj *j, int fds[3], struct kg_err *err)
{
    if (strcmp(j->facts.exchange, "memfd") != 0) {
        return KG_OK;
    }
    for (int k = 0; k < 3; k++) {
        int seals = fcntl(fds[k], F_GET_SEALS);
        int want = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
        want |= k == 1 && j->facts.sealed ? F_SEAL_FUTURE_WRITE : 0;
        if (seals < 0 || (seals & want) != want) {
            return kg_fail(err, KG_E_GYM, "the judge of tensors left a region unsealed");
        }
    }
    if (j->facts.sealed) {
        read_only(&fds[1]);
    }
    return KG_OK;
}

enum kg_code kg_dj_port_open(struct kg_dj *j, uint64_t in_bytes, uint64_t out_bytes, int *port,
                             int fds[3], struct kg_err *err)
{
    struct kg_djm_req req = {.op = KG_DJM_OPEN, .in_bytes = in_bytes, .out_bytes = out_bytes};
    struct kg_djm_rep rep;
    int got[KG_MESSAGE_FDS] = {-1, -1, -1};
    if (ask(j, &req, -1, &rep, got, err) != KG_OK) {
        return err->code;
    }
    if (rep.port < 0 || rep.port >= KG_DJ_PORTS || check_fds(j, got, err) != KG_OK) {
        for (int k = 0; k < 3; k++) {
            close(got[k]);
        }
        return kg_fail(err, KG_E_GYM, "the judge of tensors opened a port that cannot be used");
    }
    memcpy(fds, got, 3 * sizeof *fds);
    *port = rep.port;
    return KG_OK;
}

enum kg_code kg_dj_port_attach(struct kg_dj *j, int port, int pidfd, struct kg_err *err)
{
    struct kg_djm_req req = {.op = KG_DJM_ATTACH, .port = port};
    struct kg_djm_rep rep;
    int none[KG_MESSAGE_FDS];
    return ask(j, &req, pidfd, &rep, none, err);
}

enum kg_code kg_dj_port_close(struct kg_dj *j, int port, struct kg_err *err)
{
    struct kg_djm_req req = {.op = KG_DJM_CLOSE, .port = port};
    return tell(j, &req, err);
}

enum kg_code kg_dj_port_use(struct kg_dj *j, int port, uint64_t out_bytes, struct kg_err *err)
{
    struct kg_djm_req req = {.op = KG_DJM_USE, .port = port, .out_bytes = out_bytes};
    return tell(j, &req, err);
}

enum kg_code kg_dj_port_end(struct kg_dj *j, int port, struct kg_err *err)
{
    struct kg_djm_req req = {.op = KG_DJM_CLOSE, .port = port, .again = 1};
    return tell(j, &req, err);
}

enum kg_code kg_dj_trim(struct kg_dj *j, struct kg_err *err)
{
    struct kg_djm_req req = {.op = KG_DJM_TRIM};
    return tell(j, &req, err);
}

enum kg_code kg_dj_bandwidth(struct kg_dj *j, struct kg_err *err)
{
    struct kg_djm_req req = {.op = KG_DJM_BANDWIDTH};
    struct kg_djm_rep rep;
    int none[KG_MESSAGE_FDS];
    rep.facts.bandwidth = 0;
    if (ask(j, &req, -1, &rep, none, err) != KG_OK) {
        return err->code;
    }
    j->facts.bandwidth = fmax(j->facts.bandwidth, rep.facts.bandwidth);
    return KG_OK;
}

enum kg_code kg_dj_cap(struct kg_dj *j, uint64_t bytes, enum kg_dj_keeps keeps, uint64_t runners,
                       struct kg_err *err)
{
    struct kg_djm_req req = {
        .op = KG_DJM_CAP, .in_bytes = bytes, .out_bytes = runners, .at = (int)keeps};
    return tell(j, &req, err);
}

enum kg_code kg_dj_case_begin(struct kg_dj *j, int id, const struct kg_tleaf *leaf, size_t n,
                              struct kg_err *err)
{
    struct kg_djm_req req = {.op = KG_DJM_BEGIN, .id = id, .nleaf = (uint32_t)n};
    if (n > KG_TWIRE_LEAVES) {
        return kg_fail(err, KG_E_LIMIT, "%zu tensors: a case has %d at most", n, KG_TWIRE_LEAVES);
    }
    memcpy(req.leaf, leaf, n * sizeof *leaf);
    return tell(j, &req, err);
}

enum kg_code kg_dj_case_forget(struct kg_dj *j, int id, int n, struct kg_err *err)
{
    struct kg_djm_req req = {.op = KG_DJM_FORGET, .id = id, .at = n - 1};
    return tell(j, &req, err);
}

enum kg_code kg_dj_case_move(struct kg_dj *j, int id, uint64_t by, struct kg_err *err)
{
    struct kg_djm_req req = {.op = KG_DJM_MOVE, .id = id, .in_bytes = by};
    return tell(j, &req, err);
}

enum kg_code kg_dj_case_fill(struct kg_dj *j, int id, int at, const struct kg_dj_law *law,
                             struct kg_err *err)
{
    struct kg_djm_req req = {.op = KG_DJM_FILL, .id = id, .at = at, .law = *law};
    return tell(j, &req, err);
}

enum kg_code kg_dj_case_adopt(struct kg_dj *j, int id, int at, int port, int from,
                              struct kg_err *err)
{
    struct kg_djm_req req = {.op = KG_DJM_ADOPT, .id = id, .at = at, .port = port, .from = from};
    return tell(j, &req, err);
}

enum kg_code kg_dj_case_adopt_edit(struct kg_dj *j, int id, int at, int port, int from,
                                   struct kg_err *err)
{
    struct kg_djm_req req = {
        .op = KG_DJM_ADOPT, .id = id, .at = at, .port = port, .from = from, .again = 1};
    return tell(j, &req, err);
}

enum kg_code kg_dj_case_copy(struct kg_dj *j, int id, int from, struct kg_err *err)
{
    struct kg_djm_req req = {.op = KG_DJM_COPY, .id = id, .from = from};
    return tell(j, &req, err);
}

enum kg_code kg_dj_case_edit(struct kg_dj *j, int id, int at, struct kg_key key, struct kg_err *err)
{
    struct kg_djm_req req = {.op = KG_DJM_EDIT, .id = id, .at = at, .law = {.key = key}};
    return tell(j, &req, err);
}

enum kg_code kg_dj_case_touch(struct kg_dj *j, int id, int at, struct kg_key key, double unit,
                              bool large, struct kg_err *err)
{
    struct kg_djm_req req = {
        .op = KG_DJM_TOUCH, .id = id, .at = at, .law = {.key = key, .a = unit, .b = large ? 1 : 0}};
    return tell(j, &req, err);
}

enum kg_code kg_dj_case_edit_drawn(struct kg_dj *j, int id, int at, int port, struct kg_key key,
                                   struct kg_err *err)
{
    struct kg_djm_req req = {
        .op = KG_DJM_EDIT_DRAWN, .port = port, .id = id, .at = at, .law = {.key = key}};
    return tell(j, &req, err);
}

enum kg_code kg_dj_run(struct kg_dj *j, const struct kg_dj_call *c, struct kg_dj_report *out,
                       struct kg_err *err)
{
    struct kg_djm_req req = {.op = KG_DJM_RUN,
                             .lent = c->lent,
                             .port = c->port,
                             .id = c->id,
                             .command = c->command,
                             .flags = c->flags,
                             .keep = (uint32_t)c->keep,
                             .timed = c->timed,
                             .seed = c->seed,
                             .deadline_ns = c->deadline_ns};
    struct kg_djm_rep rep;
    int none[KG_MESSAGE_FDS];
    if (kg_dj_ask(j, &req, -1, c->building, &rep, none, err) != KG_OK) {
        return err->code;
    }
    *out = rep.report;
    return KG_OK;
}

static enum kg_code ask_flag(struct kg_dj *j, struct kg_djm_req *req, bool *flag,
                             struct kg_err *err)
{
    struct kg_djm_rep rep;
    int none[KG_MESSAGE_FDS];
    enum kg_code code = ask(j, req, -1, &rep, none, err);
    *flag = code == KG_OK && rep.flag == 1;
    return code;
}

enum kg_code kg_dj_self(struct kg_dj *j, int id, const struct kg_dj_ask *how, bool *applies,
                        struct kg_err *err)
{
    struct kg_djm_req req = {.op = KG_DJM_SELF, .id = id, .ask = *how};
    struct kg_djm_rep rep;
    int none[KG_MESSAGE_FDS];
    enum kg_code code = ask(j, &req, -1, &rep, none, err);
    *applies = code == KG_OK && rep.flag == 1;
    j->e_ref = code == KG_OK ? rep.e_ref : 0;
    return code;
}

enum kg_code kg_dj_kept(struct kg_dj *j, int id, int slot, bool *kept, struct kg_err *err)
{
    struct kg_djm_req req = {.op = KG_DJM_KEEP, .id = id, .at = slot};
    return ask_flag(j, &req, kept, err);
}

enum kg_code kg_dj_recall(struct kg_dj *j, int id, int slot, bool *same, struct kg_err *err)
{
    struct kg_djm_req req = {.op = KG_DJM_RECALL, .id = id, .at = slot};
    return ask_flag(j, &req, same, err);
}

enum kg_code kg_dj_choice(struct kg_dj *j, int id, int from, enum kg_dj_choice what, bool *flag,
                          struct kg_err *err)
{
    struct kg_djm_req req = {.op = KG_DJM_CHOICE, .id = id, .from = from, .at = (int)what};
    return ask_flag(j, &req, flag, err);
}

static enum kg_code compare(struct kg_dj *j, struct kg_djm_req *req, struct kg_dj_judgement *out,
                            struct kg_err *err)
{
    struct kg_djm_rep rep;
    int none[KG_MESSAGE_FDS];
    enum kg_code code = ask(j, req, -1, &rep, none, err);
    if (code == KG_OK) {
        *out = rep.judgement;
    }
    return code;
}

enum kg_code kg_dj_compare(struct kg_dj *j, int id, bool probe, struct kg_dj_judgement *out,
                           struct kg_err *err)
{
    struct kg_djm_req req = {.op = KG_DJM_COMPARE, .id = id, .probe = probe};
    return compare(j, &req, out, err);
}

enum kg_code kg_dj_compare_left(struct kg_dj *j, int id, int at, int before, int was,
                                struct kg_dj_judgement *out, struct kg_err *err)
{
    struct kg_djm_req req = {
        .op = KG_DJM_COMPARE_LEFT, .id = id, .at = at, .from = before, .lent = was};
    return compare(j, &req, out, err);
}

enum kg_code kg_dj_compare_close(struct kg_dj *j, int id, double tolerance,
                                 struct kg_dj_judgement *out, struct kg_err *err)
{
    struct kg_djm_req req = {.op = KG_DJM_COMPARE, .id = id, .tolerance = tolerance};
    if (!(tolerance > 0)) {
        return kg_fail(err, KG_E_GYM, "judge: a tolerance of %g is none", tolerance);
    }
    return compare(j, &req, out, err);
}
