/* The broker's side of the judge: start and end of its process, and one request with its reply. */
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/message.h"
#include "gym/judge/client.h"
#include "gym/judge/process.h"
#include "gym/run/trusted.h"

#define ANSWER_NS 120000000000 /* operations take seconds at most, so a silent judge is stuck */

static void no_regions(struct kg_judge *j)
{
    struct kg_region none = {.fd = -1, .runner_fd = -1};
    j->in = j->out = j->wide_in = j->wide_out = none;
}

static enum kg_code dead(struct kg_judge *j, uint32_t op, struct kg_err *err)
{
    char why[64];
    int pid = (int)j->pid;
    kg_trusted_reap(&j->pid, &j->sock, why, sizeof why);
    return kg_fail(err, KG_E_GYM, "the judge (process %d) died during `%s`: %s", pid,
                   kg_judge_op_name(op), why);
}

static enum kg_code broken(struct kg_judge *j, uint32_t op, const char *what, struct kg_err *err)
{
    char why[64];
    kg_trusted_reap(&j->pid, &j->sock, why, sizeof why);
    return kg_fail(err, KG_E_GYM, "the judge was ended during `%s`: %s", kg_judge_op_name(op),
                   what);
}

static enum kg_code receive(struct kg_judge *j, uint32_t op, struct kg_judge_rep *rep,
                            struct kg_err *err)
{
    int fds[KG_MESSAGE_FDS], nfds;
    if (kg_trusted_poll(j->sock, kg_clock_ns() + j->answer_ns, NULL) == 0) {
        return broken(j, op, "it did not answer in time", err);
    }
    ssize_t n = kg_message_receive(j->sock, rep, sizeof *rep, fds, &nfds);
    if (n <= 0) {
        return dead(j, op, err);
    }
    const char *wrong = kg_judge_rep_check(rep, (size_t)n, op, j->seq);
    return wrong ? broken(j, op, wrong, err) : KG_OK;
}

enum kg_code kg_judge_ask(struct kg_judge *j, struct kg_judge_req *req, const int *fds, int nfds,
                          struct kg_judge_rep *rep, struct kg_err *err)
{
    if (j->pid <= 0) {
        return kg_fail(err, KG_E_GYM, "the judge is not running (`%s`)", kg_judge_op_name(req->op));
    }
    req->magic = KG_JUDGE_MAGIC;
    req->seq = ++j->seq;
    const char *wrong = kg_judge_req_check(req, sizeof *req);
    if (wrong != NULL) {
        return kg_fail(err, KG_E_GYM, "cannot ask the judge to `%s`: %s", kg_judge_op_name(req->op),
                       wrong);
    }
    if (!kg_message_send(j->sock, req, sizeof *req, fds, nfds)) {
        return dead(j, req->op, err);
    }
    if (receive(j, req->op, rep, err) != KG_OK) {
        return err->code;
    }
    if (rep->code == KG_OK) {
        return KG_OK;
    }
    kg_fail(err, (enum kg_code)rep->code, "%s", rep->message);
    err->strained = err->code == KG_E_HOST || err->code == KG_E_LIMIT;
    return err->code;
}

enum kg_code kg_judge_start(int cpu, struct kg_judge *out, struct kg_err *err)
{
    pid_t self = getpid();
    memset(out, 0, sizeof *out);
    no_regions(out);
    out->answer_ns = ANSWER_NS;
    if (kg_trusted_fork("the judge", &out->pid, &out->sock, err) != KG_OK) {
        return err->code;
    }
    if (out->pid == 0) {
        kg_judge_main(out->sock, cpu, self);
    }
    struct kg_judge_rep hello = {.magic = 0};
    if (receive(out, KG_JUDGE_HELLO, &hello, err) != KG_OK) {
        return err->code;
    }
    if (hello.code != KG_OK) {
        return broken(out, KG_JUDGE_HELLO, hello.message, err);
    }
    out->confined = hello.flag == 1;
    return KG_OK;
}

void kg_judge_stop(struct kg_judge *j)
{
    char why[64];
    if (j->pid > 0) {
        kg_trusted_reap(&j->pid, &j->sock, why, sizeof why);
    }
    kg_judge_drop_regions(j);
}

void kg_judge_drop_regions(struct kg_judge *j)
{
    if (j->opened) {
        kg_region_destroy(&j->in);
        kg_region_destroy(&j->out);
        kg_region_destroy(&j->wide_in);
        kg_region_destroy(&j->wide_out);
    }
    no_regions(j);
    j->opened = false;
    j->in_bytes = j->out_bytes = 0;
}
