/* A pool whose processes lack memory for a frame: one allocation of a head fails, each in turn. The
 * caller is told, or the channel ends; nobody waits for a frame that does not come, and no process
 * that is healthy is replaced. */
#include "pool_rig.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>

#include "gym/pool/spawn.h"

#define MOST 400 /* allocations of one call, at most */
#define CORE 3

/* So many allocations of JSON succeed, then one fails; < 0: none does. */
static int left = -1;

static void *scarce(size_t n)
{
    bool fails = left == 0;
    left -= left >= 0;
    return fails ? NULL : malloc(n);
}

/* No process is started: the test gets the worker's end of its socket. */
static int next_fd;
int posix_spawn(pid_t *restrict pid, const char *restrict path,
                const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *restrict attr,
                char *const argv[restrict], char *const envp[restrict])
{
    (void)path, (void)actions, (void)attr, (void)envp;
    if (strcmp(argv[1], KG_ROLE_WORKER) != 0) {
        return ENOENT; /* no other supervisor comes */
    }
    worker_end = fcntl(next_fd, F_DUPFD_CLOEXEC, 3);
    *pid = NOBODY;
    return worker_end < 0;
}

/* Frames that the supervisor has got from its client. */
static int received(void)
{
    struct kg_frame f;
    int n = 0;
    kg_channel_fill(&s.client);
    while (kg_channel_take(&s.client, &f)) {
        kg_frame_deinit(&f);
        n++;
    }
    return n;
}

/* --- calls of the client --- */

enum call { SUBMIT, CANCEL, DRAIN, INFO, RESIZE, HOLD, CALLS };

static enum kgym_code call(enum call which)
{
    struct kgym_error e;
    struct kgym_info info = {.size = sizeof info};
    const struct kgym_task t = {.size = sizeof t,
                                .problem = "silu",
                                .text = "x",
                                .text_len = 1,
                                .tag = "another",
                                .deadline_s = 5};
    switch (which) {
    case SUBMIT:
        return kgym_submit(&pool, &t, NULL, &e);
    case CANCEL:
        return kgym_cancel(&pool, TASK_ID, &e);
    case DRAIN:
        return kgym_drain(&pool, &e);
    case INFO:
        return kgym_info(&pool, &info, &e);
    case RESIZE:
        return kgym_resize(&pool, 2, &e);
    default:
        return kgym_hold_core(&pool, CORE, -1, &e);
    }
}

/* What the call has left behind is what its code says. */
static void check_call(enum call which, bool good, int n)
{
    bool held =
        json_array_size(pool.held) == 1 && json_integer_value(json_array_get(pool.held, 0)) == CORE;
    assert_false(pool.channel.ended);
    assert_int_equal(pool.ntasks, 1 + (which == SUBMIT && good));
    assert_int_equal(pool.task[0].cancelled, which == CANCEL && good);
    assert_int_equal(pool.draining, which == DRAIN && good);
    assert_int_equal(pool.workers, which == RESIZE && good ? 2 : 0);
    assert_int_equal(held, which == HOLD && good);
    assert_int_equal(json_array_size(pool.held), held);
    int got = received();
    if (got != good) {
        fail_msg("call %d, allocation %d: %d frames sent", (int)which, n, got);
    }
}

static void test_calls_of_the_client(void **state)
{
    (void)state;
    for (int which = 0; which < CALLS; which++) {
        bool reached = true;
        int n = 0;
        for (; reached && n < MOST; n++) {
            open_all(true);
            if (which >= INFO) { /* the answer to the request that comes */
                json_t *reply = json_pack("{s:i, s:i}", "request", 1, "code", 0);
                assert_true(kg_channel_send(&s.client, KG_FRAME_REPLY, reply, "", 0));
            }
            left = n;
            enum kgym_code code = call((enum call)which);
            reached = left < 0;
            left = -1;
            if (pool.broken.code != KG_OK) { /* what came could not be kept */
                assert_true(which >= INFO && code != KGYM_OK);
            } else {
                assert_true(code == KGYM_OK || (reached && code == KGYM_E_LIMIT));
                check_call((enum call)which, code == KGYM_OK, n);
            }
            close_all();
        }
        assert_in_range(n, 4, MOST - 1);
    }
}

/* --- frames of the supervisor --- */

static struct kg_pool_core cores[1] = {{.cpu = CORE}};
static char *devices[] = {(char *)"cuda:9"};
static int shared[1] = {-1};

static void hear_request(const char *head)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_frame f = {.kind = KG_FRAME_REQUEST};
    int fails = left;
    left = -1;
    assert_int_equal(kg_json_parse(head, strlen(head), "head", &f.head, &err), KG_OK);
    left = fails;
    kg_supervisor_obey(&s, &f);
    left = left < 0 ? -2 : left; /* reached, whatever kg_frame_deinit does */
    kg_frame_deinit(&f);
}

/* What the supervisor has sent goes to its client. */
static void carry(void)
{
    (void)kg_channel_flush(&s.client);
    kg_client_hear(&pool);
    kg_client_hear(&pool);
}

static const json_t *reply(void)
{
    return json_object_get(pool.replies, "1");
}

static bool answered_info(void)
{
    return reply() && (kg_frame_int(reply(), "code") == KG_E_LIMIT ||
                       (json_object_get(reply(), "code") && kg_frame_int(reply(), "cores") == 1));
}

static bool answered_hold(void) /* a worker has a task on that core */
{
    return reply() && kg_frame_int(reply(), "code") == KG_E_LIMIT;
}

static bool task_ended(void)
{
    return pool.ndone == 1 && pool.done[0]->error == KGYM_E_GYM &&
           strstr(pool.done[0]->record, "the worker died twice");
}

static bool pool_ended(void)
{
    return pool.broken.code == KG_E_HOST;
}

enum event { ASKED_INFO, ASKED_HOLD, SECOND_DEATH, NO_WORKER, EVENTS };

static void happen(enum event which)
{
    if (which == ASKED_INFO) {
        hear_request("{\"request\":1,\"call\":\"info\"}");
    } else if (which == ASKED_HOLD) {
        hear_request("{\"request\":1,\"call\":\"hold\",\"core\":3,\"timeout_ms\":0}");
        (void)kg_supervisor_tend(&s);
    } else {
        kg_supervisor_hear(&s, &worker);
    }
}

/* The client gets the frame that it waits for, or finds the channel ended. */
static void test_frames_of_the_supervisor(void **state)
{
    (void)state;
    bool (*const done[EVENTS])(void) = {answered_info, answered_hold, task_ended, pool_ended};
    static const char no_compiler[] = "{\"code\":6,\"blame\":0,\"message\":\"no compiler\"}";
    for (int which = 0; which < EVENTS; which++) {
        bool reached = true;
        int n = 0, ends = 0;
        for (; reached && n < MOST; n++) {
            open_all(which != NO_WORKER);
            s.core = cores;
            s.ncores = 1;
            cores[0].held = false;
            worker.task->losses = 1;
            /* the writer of a judgement's record ends the process where memory lacks */
            json_object_set_new(worker.task->head, "kind", json_integer(KGYM_CHECK));
            if (which >= SECOND_DEATH) {
                add_frame(which == NO_WORKER ? KG_FRAME_BROKEN : KG_FRAME_DRAIN,
                          which == NO_WORKER ? no_compiler : "{}", "", 0);
                assert_int_equal(write(worker_end, bytes.data, bytes.len), (ssize_t)bytes.len);
                kg_buf_reset(&bytes);
            }
            left = n;
            happen((enum event)which);
            reached = left < 0;
            left = -1;
            carry();
            ends += s.client.ended;
            bool unheard = which == NO_WORKER && pool.ndone == 1; /* no memory to read its frame */
            if (!done[which]() && !unheard && (!s.client.ended || !reached)) {
                fail_msg("event %d, allocation %d: the client waits", which, n);
            }
            free(s.hold);
            close_all();
        }
        assert_in_range(n, 4, MOST - 1);
        assert_true(ends > 0);
    }
}

/* --- a worker that starts --- */

static void open_without_worker(void)
{
    open_all(true);
    close(worker_end);
    worker_end = -1;
    kg_channel_deinit(&worker.channel);
    assert_true(kg_pool_tasks_add(&s.tasks, worker.task));
    worker = (struct kg_worker_process){.state = KG_WORKER_NONE};
    kg_channel_init(&worker.channel, -1);
    s.core = cores;
    s.ncores = 1;
    cores[0].held = false;
    s.device = devices;
    s.ndevices = 1;
    s.shared = shared;
    kg_opts_defaults(kg_config_options(), &s.config);
    next_fd = fcntl(s.client.fd, F_DUPFD_CLOEXEC, 16); /* the one that kg_role_start will get */
    close(next_fd);
}

/* The worker has got its whole configuration, device included, and its task. */
static bool told_all(void)
{
    struct kg_channel c;
    struct kg_frame f;
    kg_channel_init(&c, worker_end);
    worker_end = -1;
    kg_channel_fill(&c);
    bool good = kg_channel_take(&c, &f) && f.kind == KG_FRAME_CONFIGURE;
    assert_true(good);
    const json_t *settings = json_object_get(f.head, "settings");
    size_t n = json_array_size(settings);
    const char *last = json_string_value(json_array_get(settings, n - 1));
    good = n == kg_config_options()->n + 1 && last && strcmp(last, "device=cuda:9") == 0 &&
           kg_frame_int(f.head, "cpu") == CORE;
    kg_frame_deinit(&f);
    good = good && kg_channel_take(&c, &f) && f.kind == KG_FRAME_TASK;
    assert_true(good);
    kg_frame_deinit(&f);
    kg_channel_deinit(&c);
    return good;
}

static void test_a_worker_that_starts(void **state)
{
    (void)state;
    bool reached = true;
    int n = 0, untold = 0, failed = 0;
    for (; reached && n < 10 * MOST; n++) {
        open_without_worker();
        left = n;
        kg_supervisor_feed(&s);
        reached = left < 0;
        left = -1;
        carry();
        if (worker.state == KG_WORKER_BUSY) {
            assert_true(told_all());
        } else if (s.tasks.n == 1) { /* the host lacks memory: the pool has ended */
            assert_true(s.client.ended || pool.broken.code == KG_E_LIMIT);
            untold++;
        } else {
            assert_true(s.client.ended || (pool.ndone == 1 && pool.done[0]->error == KGYM_E_LIMIT));
            failed++;
        }
        assert_true(reached || worker.state == KG_WORKER_BUSY);
        close_all();
    }
    assert_in_range(n, 100, 10 * MOST - 1);
    assert_true(untold > 0 && failed > 0);
}

static int use_scarce(void **state)
{
    (void)state;
    json_set_alloc_funcs(scarce, free);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_calls_of_the_client, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_frames_of_the_supervisor, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_worker_that_starts, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, use_scarce, NULL);
}
