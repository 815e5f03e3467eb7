#include "tests/support/svc_load.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/support/svc_rig.h"

enum { ENDLESS_EVERY = 40, LOOK_BACK = 50, PATIENCE_S = 240 };

#define SOURCE                                                                                     \
    "void silu(const float *x, float *y, long n) { (void)x; (void)y; (void)n;"                     \
    " for (volatile int i = 0;; i++) { } } /* %s */"

struct svc_load *svc_load_new(const int *ports, int nports)
{
    struct svc_load *l =
        mmap(NULL, sizeof *l, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(l != MAP_FAILED);
    l->nports = nports;
    memcpy(l->port, ports, (size_t)nports * sizeof *ports);
    return l;
}

void svc_load_free(struct svc_load *l)
{
    munmap(l, sizeof *l);
}

static void rest(void)
{
    usleep(10000);
}

/* --- what a client asks --- */

static json_t *body_of(const struct svc_load_entry *e)
{
    char text[512];
    snprintf(text, sizeof text, e->endless ? SOURCE : "nothing: %s", e->key);
    return json_pack("{s:s, s:s, s:s, s:s, s:{s:b}}", "problem", "silu", "key", e->key, "tag",
                     e->key, e->endless ? "source" : "reply", text, "set", "stage.timing", 0);
}

/* JSON and its status; 0 and NULL: no answer. The caller frees it. */
static int ask(const char *method, const char *path, const char *body, json_t **out)
{
    struct kg_buf text;
    kg_buf_init(&text, 64u << 20);
    int status = svc_request(method, path, "", body, strlen(body), &text);
    *out = json_loads(text.data, 0, NULL);
    kg_buf_deinit(&text);
    return status;
}

/* Until it is answered. id: of the job; "": it was refused. */
static void submit(struct svc_load *l, const struct svc_load_entry *e, int client, char id[32])
{
    json_t *body = body_of(e), *answer;
    char *text = json_dumps(body, 0);
    int tries = client;
    for (int status = 0; status == 0 || status == 503; rest()) {
        svc_port = l->port[tries++ % l->nports];
        status = ask("POST", "/v1/evaluations", text, &answer);
        bool accepted = status == 202 || status == 200; /* 200: it has ended already */
        l->faults.refused += !accepted && status != 0 && status != 503;
        snprintf(id, 32, "%s", accepted ? svc_text(answer, "id") : "");
        json_decref(answer);
    }
    free(text);
    json_decref(body);
}

/* What the service says about an entry now; true: its job has ended. */
static bool look(struct svc_load *l, struct svc_load_entry *e)
{
    char path[128], sum[KG_SHA256_HEX];
    json_t *j;
    snprintf(path, sizeof path, "/v1/evaluations/%s", e->id);
    int status = ask("GET", path, "", &j);
    json_t *record = json_object_get(j, "record");
    l->faults.lost += status == 404;
    if (json_is_object(record)) {
        char *text = json_dumps(record, JSON_SORT_KEYS);
        kg_sha256_hex(text, strlen(text), sum);
        bool other = strcmp(svc_text(record, "batch_id"), e->key) != 0 ||
                     (!e->endless && strcmp(svc_text(j, "verdict"), "no_code") != 0);
        l->faults.changed += other || (e->sum[0] != '\0' && strcmp(e->sum, sum) != 0);
        snprintf(e->sum, sizeof e->sum, "%s", sum);
        free(text);
    }
    bool ended = strcmp(svc_text(j, "state"), "done") == 0;
    json_decref(j);
    return ended;
}

/* --- the clients --- */

static void run_client(struct svc_load *l, int client)
{
    char id[32];
    int first = l->n, mine = 0;
    for (int i = 0; !l->stop && first + i < SVC_LOAD_MOST; i++) {
        struct svc_load_entry *e = &l->entry[atomic_fetch_add(&l->n, 1)];
        snprintf(e->key, sizeof e->key, "client-%d-%d", client, i);
        e->endless = i % ENDLESS_EVERY == 1;
        submit(l, e, client + i, id);
        snprintf(e->id, sizeof e->id, "%s", id);
        mine = i % LOOK_BACK == LOOK_BACK - 1 ? (int)(e - l->entry) - LOOK_BACK : -1;
        if (mine >= 0 && l->entry[mine].id[0] != '\0') {
            submit(l, &l->entry[mine], client, id);
            l->faults.doubled += strcmp(id, l->entry[mine].id) != 0;
        }
        rest();
    }
}

void svc_load_start(struct svc_load *l, pid_t client[SVC_LOAD_CLIENTS])
{
    fflush(NULL);
    for (int i = 0; i < SVC_LOAD_CLIENTS; i++) {
        client[i] = fork();
        assert_true(client[i] >= 0);
        if (client[i] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            run_client(l, i);
            _exit(0);
        }
    }
}

void svc_load_stop(struct svc_load *l, const pid_t client[SVC_LOAD_CLIENTS])
{
    int status;
    l->stop = true;
    for (int i = 0; i < SVC_LOAD_CLIENTS; i++) {
        assert_int_equal(waitpid(client[i], &status, 0), client[i]);
        assert_int_equal(status, 0);
    }
}

/* --- the check --- */

/* Three attempts that were all killed: the job has ended in the list of the dead, and may be asked
 * for again. */
static int64_t requeue_dead(void)
{
    json_t *list, *job, *answer;
    size_t i;
    char path[128];
    int64_t n = 0;
    if (ask("GET", "/v1/evaluations?state=dead&limit=100", "", &list) == 200) {
        json_array_foreach(json_object_get(list, "evaluations"), i, job)
        {
            snprintf(path, sizeof path, "/v1/evaluations/%s/requeue", svc_text(job, "id"));
            ask("POST", path, "", &answer);
            json_decref(answer);
            n++;
        }
    }
    json_decref(list);
    return n;
}

/* Jobs that have not ended, and those of all states. */
static int64_t open_jobs(int64_t *all)
{
    static const char *const states[] = {"waiting", "running", "dead", "done", "cancelled"};
    json_t *j;
    int64_t n[5] = {1};
    if (ask("GET", "/v1/stats", "", &j) == 200) {
        for (int i = 0; i < 5; i++) {
            n[i] = json_integer_value(json_object_get(json_object_get(j, "jobs"), states[i]));
        }
    }
    json_decref(j);
    *all = n[0] + n[1] + n[2] + n[3] + n[4];
    return n[0] + n[1] + n[2];
}

void svc_load_check(struct svc_load *l)
{
    int64_t all = 0, dead = 0, until = kg_clock_ns() + (int64_t)PATIENCE_S * 1000000000;
    char id[32];
    svc_port = l->port[0];
    while (open_jobs(&all) > 0 && kg_clock_ns() < until) {
        dead += requeue_dead();
        rest();
    }
    for (int i = 0; i < l->n; i++) {
        struct svc_load_entry *e = &l->entry[i];
        if (e->id[0] == '\0') {
            continue;
        }
        int before = l->faults.lost;
        bool ended = look(l, e);
        l->faults.lost += !ended && l->faults.lost == before;
        if (i % LOOK_BACK == 0) {
            submit(l, e, 0, id);
            l->faults.doubled += strcmp(id, e->id) != 0;
        }
    }
    l->faults.doubled += all > l->n ? (int)(all - l->n) : 0;
    print_message(
        "%d jobs, %lld dead ones asked again: %d lost, %d changed, %d doubled, %d refused\n",
        (int)l->n, (long long)dead, (int)l->faults.lost, (int)l->faults.changed,
        (int)l->faults.doubled, (int)l->faults.refused);
}
