/* Frames of a pool from a peer that lies: the channel that reads them, the supervisor that hears a
 * worker, and the client behind it. No process runs: the test holds the other end of each socket.
 * A worker's bytes must never crash a reader, lose a task, or end the pool. */
#include "pool_rig.h"

#include "base/clock.h"

#include <dirent.h>
#include <math.h>

/* The next calls of calloc fail: for lack of memory at one place. Sanitizers have their own. */
#ifndef __SANITIZE_ADDRESS__
static bool no_calloc;
void *__libc_calloc(size_t n, size_t size);
void *calloc(size_t n, size_t size)
{
    return no_calloc ? NULL : __libc_calloc(n, size);
}
#endif

/* --- heads of results --- */

/* A speed-up without an interval, as KernelBench's procedure gives. */
static void test_an_end_that_is_not_known_is_null(void **state)
{
    (void)state;
    struct kg_record r;
    json_t *task = json_pack("{s:i, s:i}", "id", 7, "kind", KGYM_EVALUATE), *head, *heard;
    kg_record_init(&r);
    kg_record_verdict(&r, KG_V_OK, NULL, "right");
    r.correct = 1;
    r.has_speedup = true;
    r.timing.status = KG_T_MEASURED;
    r.speedup.ratio = 1.5;
    r.speedup.lo = r.speedup.hi = NAN;
    head = kg_result_of_record(7, &r);
    assert_non_null(head);
    heard = kg_result_of_claim(task, head);
    assert_non_null(heard);
    const json_t *three = json_object_get(heard, "speedup");
    assert_int_equal(json_array_size(three), 3);
    assert_true(json_number_value(json_array_get(three, 0)) == 1.5);
    assert_true(json_is_null(json_array_get(three, 1)) && json_is_null(json_array_get(three, 2)));
    json_decref(heard);
    json_array_set_new(json_object_get(head, "speedup"), 1, json_string("1"));
    assert_null(kg_result_of_claim(task, head));
    json_decref(head);
    json_decref(task);
    kg_record_deinit(&r);
}

/* --- the channel --- */

/* Writes all bytes, while the reader reads: a socket holds only some of them. */
static void feed_channel(int fd, struct kg_channel *c)
{
    for (size_t at = 0; at < bytes.len;) {
        ssize_t n = send(fd, bytes.data + at, bytes.len - at, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0) {
            kg_channel_fill(c);
            assert_false(c->ended);
        }
        at += n > 0 ? (size_t)n : 0;
    }
}

static void test_a_frame_arrives_whole_however_it_is_cut(void **state)
{
    (void)state;
    static const char body[] = "a\0b\nc";
    int pair[2];
    struct kg_channel c;
    struct kg_frame f;
    socket_pair(pair);
    kg_channel_init(&c, pair[0]);
    add_frame(KG_FRAME_TASK, "{\"id\":3}", body, sizeof body);
    for (size_t i = 0; i < bytes.len; i++) {
        assert_false(kg_channel_take(&c, &f));
        assert_int_equal(write(pair[1], bytes.data + i, 1), 1);
        kg_channel_fill(&c);
    }
    assert_true(kg_channel_take(&c, &f));
    assert_int_equal(f.kind, KG_FRAME_TASK);
    assert_int_equal(kg_frame_int(f.head, "id"), 3);
    assert_int_equal(f.len, sizeof body);
    assert_memory_equal(f.body, body, sizeof body);
    assert_int_equal(f.body[f.len], 0);
    kg_frame_deinit(&f);
    assert_false(kg_channel_take(&c, &f));
    close(pair[1]);
    kg_channel_fill(&c);
    assert_true(c.ended);
    kg_channel_deinit(&c);
}

static void expect_refused(const char *what, size_t most)
{
    int pair[2];
    struct kg_channel c;
    struct kg_frame f;
    socket_pair(pair);
    kg_channel_init(&c, pair[0]);
    c.most = most ? most : c.most;
    feed_channel(pair[1], &c);
    kg_channel_fill(&c);
    if (kg_channel_take(&c, &f) || !c.ended) {
        fail_msg("%s is taken", what);
    }
    kg_channel_deinit(&c);
    close(pair[1]);
    kg_buf_reset(&bytes);
}

static void test_frames_out_of_form_end_the_channel(void **state)
{
    (void)state;
    static const char *const heads[] = {
        "", "[]", "1", "null", "{", "{}{}", "\"", "{\"a\":}", "{\"a\":1,\"a\":2}", "{\"\xff\":1}"};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        add_frame(KG_FRAME_TASK, heads[i], "", 0);
        expect_refused(heads[i], 0);
    }
    add_prefix(KG_FRAME_TASK, KG_HEAD_MAX + 1, 0);
    expect_refused("a head that is too long", 0);
    add_prefix(KG_FRAME_TASK, 2, KG_FRAME_MAX - 1);
    expect_refused("a frame that is too long", 0);
    add_prefix(KG_FRAME_TASK, UINT32_MAX, UINT32_MAX);
    expect_refused("lengths whose sum wraps", 0);
    add_prefix(KG_FRAME_TASK, 2, 999);
    expect_refused("a frame above the channel's own limit", 1000);
    add_prefix(KG_FRAME_TASK, 6 + 140, 0);
    kg_buf_adds(&bytes, "{\"a\":");
    for (int i = 0; i < 140; i++) {
        kg_buf_adds(&bytes, i < 70 ? "[" : "]");
    }
    kg_buf_adds(&bytes, "}");
    expect_refused("a deep head", 0);
}

/* Lengths that say less than there is: the rest is read as a frame of its own, and refused. */
static void test_a_short_length_costs_the_channel(void **state)
{
    (void)state;
    int pair[2];
    struct kg_channel c;
    struct kg_frame f;
    socket_pair(pair);
    kg_channel_init(&c, pair[0]);
    add_prefix(KG_FRAME_TASK, 2, 3);
    kg_buf_adds(&bytes, "{}abcdefghijklmnopq");
    feed_channel(pair[1], &c);
    kg_channel_fill(&c);
    assert_true(kg_channel_take(&c, &f));
    assert_int_equal(f.len, 3);
    kg_frame_deinit(&f);
    assert_false(kg_channel_take(&c, &f));
    assert_true(c.ended);
    kg_channel_deinit(&c);
    close(pair[1]);
}

static void test_what_cannot_be_sent_is_refused_whole(void **state)
{
    (void)state;
    int pair[2];
    struct kg_channel c;
    static char text[KG_HEAD_MAX];
    socket_pair(pair);
    kg_channel_init(&c, pair[0]);
    memset(text, 'x', sizeof text - 1);
    assert_false(kg_channel_queue(&c, KG_FRAME_TASK, json_pack("{s:s}", "a", text), "", 0));
    assert_false(kg_channel_queue(&c, KG_FRAME_TASK, NULL, "", 0));
    assert_false(kg_channel_queue(&c, KG_FRAME_TASK, json_object(), "", KG_FRAME_MAX));
    assert_int_equal(c.out.len, 0);
    assert_false(c.ended);
    c.out.max = 100; /* no more memory than this: a frame of which a part fits */
    assert_true(kg_channel_queue(&c, KG_FRAME_DRAIN, json_object(), "", 0));
    size_t before = c.out.len;
    assert_false(kg_channel_queue(&c, KG_FRAME_TASK, json_object(), text, 200));
    assert_int_equal(c.out.len, before);
    assert_true(kg_channel_queue(&c, KG_FRAME_DRAIN, json_object(), "", 0));
    assert_false(c.ended);
    kg_channel_queue_or_end(&c, KG_FRAME_TASK, json_object(), text, 200);
    assert_true(c.ended);
    kg_channel_deinit(&c);
    close(pair[1]);
}

/* A peer that is gone takes no more, and what it sent before is read all the same. */
static void test_last_words_are_read(void **state)
{
    (void)state;
    int pair[2];
    struct kg_channel c;
    struct kg_frame f;
    socket_pair(pair);
    kg_channel_init(&c, pair[0]);
    add_frame(KG_FRAME_TAKEN, "{\"id\":1}", "", 0);
    feed_channel(pair[1], &c);
    close(pair[1]);
    assert_false(kg_channel_send(&c, KG_FRAME_DRAIN, json_object(), "", 0));
    kg_channel_fill(&c);
    assert_false(kg_channel_take(&c, &f));
    assert_true(kg_channel_last(&c));
    kg_channel_fill(&c);
    assert_true(kg_channel_take(&c, &f));
    kg_frame_deinit(&f);
    kg_channel_fill(&c);
    assert_true(c.ended);
    assert_false(kg_channel_last(&c));
    kg_channel_deinit(&c);
}

/* --- a worker that lies --- */

/* The worker is replaced and the task waits for its second try; the same again, and it ends as an
 * error. */
static void expect_replaced(const char *what, const char *again, size_t len)
{
    hear_all();
    if (worker.state != KG_WORKER_ENDING || s.tasks.n != 1 || !held_once()) {
        fail_msg("%s: worker %d, %zu tasks, %zu results", what, (int)worker.state, s.tasks.n,
                 pool.ndone);
    }
    assert_int_equal(s.tasks.task[0]->losses, 1);
    close(worker_end);
    hire(kg_pool_tasks_take(&s.tasks, 0));
    kg_buf_add(&bytes, again, len);
    hear_all();
    if (worker.state != KG_WORKER_ENDING || pool.ndone != 1 || !held_once()) {
        fail_msg("%s: again: worker %d, %zu results", what, (int)worker.state, pool.ndone);
    }
    const struct kgym_result *r = pool.done[0];
    assert_int_equal(r->id, TASK_ID);
    assert_int_equal(r->error, KGYM_E_GYM);
    assert_null(r->verdict);
    assert_string_equal(r->tag, "mine");
    assert_non_null(strstr(r->record, "\"batch_id\":\"mine\""));
}

#define FINE "{\"id\":7,\"kind\":0,\"error\":0,\"correct\":1,\"verdict\":\"ok\",\"message\":\"m\"}"

static void test_an_honest_result_arrives(void **state)
{
    (void)state;
    open_all(false);
    add_frame(KG_FRAME_READY, "{}", "", 0);
    add_result("{\"id\":7,\"kind\":0,\"error\":0,\"correct\":1,\"verdict\":\"ok\",\"reason\":null,"
               "\"message\":\"m\",\"speedup\":[2.0,1.5,3],\"rewards\":[[\"binary\",1.0]],"
               "\"unknown\":[1,2]}",
               "{\"a\":1}");
    hear_all();
    assert_int_equal(worker.state, KG_WORKER_IDLE);
    assert_true(held_once());
    const struct kgym_result *r = pool.done[0];
    assert_string_equal(r->verdict, "ok");
    assert_string_equal(r->record, "{\"a\":1}");
    assert_true(r->speedup == 2 && r->speedup_hi == 3);
    assert_int_equal(r->nrewards, 1);
    assert_string_equal(r->rewards[0].name, "binary");
    close_all();
}

static void test_forged_heads(void **state)
{
    (void)state;
    static const char *const heads[] = {
        "{}",
        "{\"id\":8,\"kind\":0,\"error\":0,\"correct\":1,\"verdict\":\"ok\"}", /* another task's */
        "{\"id\":\"7\",\"kind\":0,\"error\":0,\"correct\":1,\"verdict\":\"ok\"}", /* a string */
        "{\"id\":7,\"kind\":1,\"error\":0,\"correct\":1,\"verdict\":\"fit\"}",    /* of a check */
        "{\"id\":7,\"kind\":0,\"error\":12,\"correct\":1}",                       /* no code */
        "{\"id\":7,\"kind\":0,\"error\":-1,\"correct\":1}",
        "{\"id\":7,\"kind\":0,\"error\":8,\"correct\":1,\"verdict\":\"ok\"}", /* and a verdict */
        "{\"id\":7,\"kind\":0,\"error\":9,\"correct\":-1}", /* cancelled, which nobody asked for */
        "{\"id\":7,\"kind\":0,\"error\":0,\"correct\":2,\"verdict\":\"ok\"}",
        "{\"id\":7,\"kind\":0,\"error\":0,\"correct\":1,\"verdict\":[\"ok\"]}",
        "{\"id\":7,\"kind\":0,\"error\":0,\"correct\":1,\"message\":{}}",
        "{\"id\":7,\"kind\":0,\"error\":0,\"correct\":1,\"speedup\":[1,2]}",
        "{\"id\":7,\"kind\":0,\"error\":0,\"correct\":1,\"speedup\":[1,2,\"3\"]}",
        "{\"id\":7,\"kind\":0,\"error\":0,\"correct\":1,\"rewards\":{\"binary\":1}}",
        "{\"id\":7,\"kind\":0,\"error\":0,\"correct\":1,\"rewards\":[[null,1]]}",
        "{\"id\":7,\"kind\":0,\"error\":0,\"correct\":1,\"rewards\":[[\"a\",\"1\"]]}",
        "{\"id\":7,\"kind\":0,\"error\":0,\"correct\":1,\"rewards\":[1]}",
        "{\"id\":7,\"kind\":0,\"error\":0,\"correct\":1,\"rewards\":[[\"a\",1],[\"a\",1],[\"a\",1],"
        "[\"a\",1],[\"a\",1],[\"a\",1],[\"a\",1],[\"a\",1],[\"a\",1],[\"a\",1],[\"a\",1],"
        "[\"a\",1],[\"a\",1],[\"a\",1],[\"a\",1],[\"a\",1],[\"a\",1]]}"};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        open_all(true);
        add_result(heads[i], "{}");
        char *again = malloc(bytes.len);
        assert_non_null(again);
        size_t len = bytes.len;
        memcpy(again, bytes.data, len);
        expect_replaced(heads[i], again, len);
        free(again);
        close_all();
    }
}

static void expect_no_record(const char *what, const void *body, size_t len)
{
    open_all(true);
    add_frame(KG_FRAME_RESULT, FINE, body, len);
    char *again = malloc(bytes.len);
    assert_non_null(again);
    size_t n = bytes.len;
    memcpy(again, bytes.data, n);
    expect_replaced(what, again, n);
    free(again);
    close_all();
}

static void test_forged_records(void **state)
{
    (void)state;
    expect_no_record("empty", "", 0);
    expect_no_record("two lines", "{}\n{}", 5);
    expect_no_record("a line break inside", "{\n}", 3);
    expect_no_record("a carriage return", "{\r}", 3);
    expect_no_record("a NUL", "{}\0", 3);
    expect_no_record("no UTF-8", "{\"\xff\":1}", 7);
    expect_no_record("no object", "[1]", 3);
    expect_no_record("no JSON", "{\"a\"}", 5);
    char *deep = malloc(2000);
    assert_non_null(deep);
    memset(deep, '[', 1000);
    memset(deep + 1000, ']', 1000);
    memcpy(deep, "{\"a\":", 5);
    deep[1999] = '}';
    expect_no_record("deep", deep, 2000);
    free(deep);
}

/* A short text may be a large tree: the supervisor builds none of more values than it expects. */
static void test_a_record_of_many_values(void **state)
{
    (void)state;
    enum { MANY = KG_POOL_MARKS_MAX / 2 };
    struct kg_buf record;
    kg_buf_init(&record, 1u << 20);
    for (int k = 0; k < 2; k++) {
        kg_buf_reset(&record);
        kg_buf_adds(&record, k == 0 ? "{\"a\":[{}" : "{\"a\":[\"\\\"{}");
        for (int i = 0; i < MANY; i++) {
            kg_buf_adds(&record, ",{}");
        }
        kg_buf_adds(&record, k == 0 ? "]}" : "\"]}");
        if (k == 0) {
            expect_no_record("a large tree", record.data, record.len);
        } else { /* in a string these characters are text */
            open_all(true);
            add_result(FINE, record.data);
            hear_all();
            assert_true(held_once());
            assert_string_equal(pool.done[0]->record, record.data);
            close_all();
        }
    }
    kg_buf_deinit(&record);
}

static void test_frames_of_the_wrong_kind(void **state)
{
    (void)state;
    static const uint32_t kinds[] = {0,
                                     KG_FRAME_OPEN,
                                     KG_FRAME_TASK,
                                     KG_FRAME_REPLY,
                                     KG_FRAME_BROKEN, /* once it is ready, it can't say that */
                                     KG_FRAME_CONFIGURE,
                                     KG_FRAME_READY, /* again */
                                     KG_FRAME_TAKEN,
                                     99,
                                     UINT32_MAX};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char what[40];
        open_all(true);
        snprintf(what, sizeof what, "kind %u", kinds[i]);
        add_frame(kinds[i], "{\"id\":7,\"code\":6,\"blame\":0,\"message\":\"forged\"}", "{}", 2);
        char again[256];
        size_t len = bytes.len;
        assert_true(len <= sizeof again);
        memcpy(again, bytes.data, len);
        expect_replaced(what, again, len);
        close_all();
    }
}

static void test_frames_out_of_form_cost_the_worker(void **state)
{
    (void)state;
    static const uint32_t lengths[][2] = {
        {KG_HEAD_MAX + 1, 0}, {2, KG_HEAD_MAX + KG_POOL_RECORD_MAX}, {UINT32_MAX, UINT32_MAX}};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        const uint32_t prefix[3] = {KG_FRAME_RESULT, lengths[i][0], lengths[i][1]};
        open_all(true);
        add_prefix(KG_FRAME_RESULT, lengths[i][0], lengths[i][1]);
        expect_replaced("wrong lengths", (const char *)prefix, sizeof prefix);
        close_all();
    }
}

/* Half a frame is waited for; then the worker is gone. */
static void test_a_truncated_frame(void **state)
{
    (void)state;
    open_all(true);
    add_result(FINE, "{\"a\":1}");
    bytes.len -= 3;
    hear_all();
    assert_int_equal(worker.state, KG_WORKER_BUSY);
    assert_true(held_once());
    shutdown(worker_end, SHUT_WR);
    hear_all();
    assert_int_equal(worker.state, KG_WORKER_ENDING);
    assert_int_equal(s.tasks.n, 1);
    assert_true(held_once());
    close_all();
}

/* A head that grows when it is written again, and one member that takes all the room. */
static void test_a_head_that_fills_its_room(void **state)
{
    (void)state;
    struct kg_buf head;
    kg_buf_init(&head, KG_HEAD_MAX);
    for (int k = 0; k < 2; k++) {
        kg_buf_reset(&head);
        kg_buf_adds(&head, FINE);
        head.len--; /* its brace */
        kg_buf_adds(&head, k == 0 ? ",\"x\":[1e9" : ",\"reason\":\"");
        while (head.len < KG_HEAD_MAX - 16) {
            kg_buf_adds(&head, k == 0 ? ",1e9" : "aaaa");
        }
        kg_buf_adds(&head, k == 0 ? "]}" : "\"}");
        open_all(true);
        add_result(head.data, "{}");
        hear_all();
        assert_true(held_once());
        assert_int_equal(pool.ndone, k == 0); /* what is unknown is left out; a reason is short */
        if (k == 0) {
            assert_string_equal(pool.done[0]->verdict, "ok");
        }
        close_all();
    }
    kg_buf_deinit(&head);
}

/* A second result has no task. The first one stays. */
static void test_two_results_for_one_task(void **state)
{
    (void)state;
    open_all(true);
    add_result(FINE, "{\"a\":1}");
    add_result(FINE, "{\"a\":2}");
    hear_all();
    assert_int_equal(worker.state, KG_WORKER_ENDING);
    assert_true(held_once());
    assert_string_equal(pool.done[0]->record, "{\"a\":1}");
    close_all();
}

static void test_broken_before_it_is_ready(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        static const char *const heads[] = {
            "{\"code\":6,\"blame\":0,\"message\":\"no compiler\"}", /* it ends the pool */
            "{\"code\":9,\"blame\":0,\"message\":\"interrupted\"}", /* its first task was cancelled
                                                                     */
            "{\"code\":0,\"blame\":0,\"message\":\"\"}"};
        open_all(false);
        add_frame(KG_FRAME_BROKEN, heads[k], "", 0);
        hear_all();
        assert_int_equal(worker.state, KG_WORKER_ENDING);
        assert_int_equal(s.tasks.n, 1);
        assert_int_equal(pool.broken.code, k == 0 ? KG_E_HOST : KG_OK);
        close_all();
    }
}

static const char no_device[] = "{\"code\":6,\"blame\":0,\"message\":\"no device\"}";

/* Another process of the same worker gets the task that waits, and cannot start either. */
static void refuse_once_more(bool says_why)
{
    assert_int_equal(worker.state, KG_WORKER_ENDING);
    assert_true(worker.again_ns > kg_clock_ns()); /* not at once */
    assert_int_equal(s.tasks.n, 1);
    kg_channel_deinit(&worker.channel);
    if (worker_end >= 0) {
        close(worker_end);
    }
    hire(kg_pool_tasks_take(&s.tasks, 0));
    worker.ready = false;
    kg_buf_reset(&bytes);
    if (says_why) {
        add_frame(KG_FRAME_BROKEN, no_device, "", 0);
    } else {
        close(worker_end);
        worker_end = -1;
    }
    hear_all();
}

/* The host has judged before, and now its device cannot be opened. Whoever does not start has not
 * read the task, so the task waits; but not for ever. */
static void test_a_worker_that_cannot_start_costs_no_task(void **state)
{
    (void)state;
    struct kg_pool_core core = {0};
    for (int says_why = 0; says_why < 2; says_why++) {
        open_all(false);
        s.worked = true;
        s.core = &core;
        s.ncores = 1;
        add_frame(KG_FRAME_BROKEN, no_device, "", 0);
        hear_all();
        for (int k = 0; k < 5; k++) {
            refuse_once_more(says_why);
        }
        assert_int_equal(s.tasks.task[0]->losses, 0);
        assert_int_equal(pool.ndone, 0);
        assert_int_equal(pool.broken.code, KG_OK);

        s.tasks.task[0]->refused_ns -= 61000000000; /* a minute later, with a colleague at work */
        struct kg_worker_process other = {.state = KG_WORKER_BUSY, .ready = true},
                                 *both[] = {&worker, &other};
        s.worker = both;
        s.nworkers = 2;
        refuse_once_more(says_why);
        refuse_once_more(says_why);
        assert_int_equal(s.tasks.task[0]->losses, 0);
        assert_int_equal(s.tasks.task[0]->refused_ns, 0);

        core.held = true; /* it can be given nothing */
        refuse_once_more(says_why);
        assert_true(s.tasks.task[0]->refused_ns > 0);
        core.held = false;
        other.state = KG_WORKER_NONE;
        s.tasks.task[0]->refused_ns -= 61000000000;
        s.ready_ns = kg_clock_ns(); /* there was one meanwhile, so its minute begins anew */
        refuse_once_more(says_why);
        assert_int_equal(s.tasks.task[0]->losses, 0);
        s.ready_ns = 0;
        s.tasks.task[0]->refused_ns -= 61000000000;
        refuse_once_more(says_why);
        assert_int_equal(s.tasks.task[0]->losses, 1);
        refuse_once_more(says_why);
        assert_int_equal(s.tasks.n, 0);
        assert_int_equal(pool.ndone, 1);
        assert_int_equal(pool.done[0]->error, says_why ? KGYM_E_HOST : KGYM_E_GYM);
        s.worker = workers;
        s.nworkers = 1;
        close_all();
    }
}

/* Bytes of a task that a worker has not read when it ends. */
static void keep_unread_and_send(void)
{
    assert_true(kg_channel_queue(&worker.channel, KG_FRAME_TASK, json_object(), "", 0));
    assert_false(kg_channel_flush(&worker.channel));
    assert_true(worker.channel.ended);
}

/* The supervisor finds that a worker takes no more before it has read what the worker sent. */
static void test_last_words_of_a_worker(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        open_all(k != 0);
        if (k == 0) {
            add_frame(KG_FRAME_BROKEN, "{\"code\":6,\"blame\":0,\"message\":\"no compiler\"}", "",
                      0);
        } else if (k == 1) {
            add_result(FINE, "{\"a\":1}");
        }
        assert_int_equal(write(worker_end, bytes.data, bytes.len), (ssize_t)bytes.len);
        kg_buf_reset(&bytes);
        if (k < 2) {
            close(worker_end);
            worker_end = -1;
        } else { /* one that lives, reads nothing and says nothing */
            shutdown(worker_end, SHUT_RD);
        }
        keep_unread_and_send();
        (void)kg_supervisor_tend(&s);
        hear_all();
        assert_int_equal(worker.state, KG_WORKER_NONE); /* it ended, and is gone */
        assert_int_equal(pool.broken.code, k == 0 ? KG_E_HOST : KG_OK);
        assert_int_equal(s.tasks.n, k != 1);
        assert_int_equal(pool.ndone, k == 1);
        close_all();
    }
}

/* A worker that cannot send its record says so. The supervisor would take the rest for a lie. */
static void test_a_record_that_does_not_fit(void **state)
{
    (void)state;
    json_t *task =
        json_pack("{s:i, s:i, s:s}", "id", TASK_ID, "kind", KGYM_EVALUATE, "tag", "mine");
    struct kg_buf body;
    for (int k = 0; k < 3; k++) {
        kg_buf_init(&body, 32u << 20);
        kg_buf_adds(&body, "{\"a\":[1");
        for (int i = 0; i < (k == 2 ? 10 : (int)KG_POOL_MARKS_MAX); i++) {
            kg_buf_adds(&body, ",1");
        }
        kg_buf_adds(&body, "]}");
        body.truncated = k == 1;
        json_t *head = kg_result_within(task, json_pack("{s:i}", "id", TASK_ID), false, &body);
        assert_true(kg_result_is_record(body.data, body.len));
        assert_int_equal(kg_frame_int(head, "id"), TASK_ID);
        assert_int_equal(kg_frame_int(head, "error"), k == 2 ? KG_OK : KG_E_LIMIT);
        assert_int_equal(strstr(body.data, "\"batch_id\":\"mine\"") != NULL, k != 2);
        json_decref(head);
        kg_buf_deinit(&body);
    }
    json_decref(task);
}

static int count_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int n = 0;
    assert_non_null(dir);
    while (readdir(dir)) {
        n++;
    }
    closedir(dir);
    return n;
}

/* Descriptors that a worker sends along stay in none of the readers. */
static void test_descriptors_are_not_taken(void **state)
{
    (void)state;
    enum { MANY = 250 };
    union {
        char room[CMSG_SPACE(MANY * sizeof(int))];
        struct cmsghdr align;
    } control;
    open_all(true);
    add_result(FINE, "{\"a\":1}");
    struct iovec iov = {bytes.data, bytes.len};
    struct msghdr m = {.msg_iov = &iov,
                       .msg_iovlen = 1,
                       .msg_control = control.room,
                       .msg_controllen = sizeof control.room};
    memset(&control, 0, sizeof control);
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(MANY * sizeof(int));
    for (int i = 0; i < MANY; i++) {
        memcpy(CMSG_DATA(c) + (size_t)i * sizeof i, &worker_end, sizeof worker_end);
    }
    int before = count_descriptors();
    assert_int_equal(sendmsg(worker_end, &m, 0), (ssize_t)bytes.len);
    kg_buf_reset(&bytes);
    hear_all();
    assert_int_equal(count_descriptors(), before);
    assert_int_equal(pool.ndone, 1);
    assert_true(held_once());
    close_all();
}

/* --- the client --- */

/* What a supervisor sent before it died counts. The next one would judge that task once more. */
static void test_last_words_of_a_supervisor(void **state)
{
    (void)state;
    open_all(true);
    json_t *head = json_pack("{s:i, s:i, s:i}", "id", TASK_ID, "kind", 0, "error", 0);
    assert_true(kg_channel_send(&s.client, KG_FRAME_RESULT, head, "{}", 2));
    kg_channel_deinit(&s.client);
    struct kgym_error e;
    assert_int_equal(kgym_cancel(&pool, TASK_ID, &e), KGYM_OK); /* it finds the end */
    assert_int_equal(pool.ntasks, 0);
    assert_int_equal(pool.ndone, 1);
    assert_int_equal(pool.done[0]->id, TASK_ID);
    assert_string_equal(pool.done[0]->tag, "mine");
    assert_int_equal(pool.broken.code, KG_E_HOST); /* the rig has no other supervisor */
    close_all();
}

/* The caller's process goes on, and is told. */
static void test_no_memory_for_a_result(void **state)
{
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip(); /* its own allocator */
#else
    open_all(true);
    json_t *head = json_pack("{s:i, s:i, s:i}", "id", TASK_ID, "kind", 0, "error", 0);
    assert_true(kg_channel_send(&s.client, KG_FRAME_RESULT, head, "{}", 2));
    no_calloc = true;
    kg_client_hear(&pool);
    no_calloc = false;
    assert_int_equal(pool.broken.code, KG_E_LIMIT);
    assert_true(pool.broken.memory);
    assert_int_equal(pool.ntasks, 1);
    assert_int_equal(pool.ndone, 0);
    close_all();
#endif
}

/* A worker prepares ahead only if another task is left for it after each other one has taken one.
 */
static void test_a_worker_is_told_of_what_is_left_for_it(void **state)
{
    (void)state;
    static const int waiting[] = {1, 2, 3, 4};
    static const bool told[] = {false, false, true, true};
    struct kg_pool_core core = {0};
    for (size_t i = 0; i < sizeof waiting / sizeof *waiting; i++) {
        open_all(true);
        s.wanted = 2; /* the other one is still to come */
        s.core = &core;
        s.ncores = 1;
        worker.state = KG_WORKER_IDLE;
        kg_pool_task_destroy(worker.task);
        worker.task = NULL;
        for (int k = 0; k < waiting[i]; k++) {
            struct kg_pool_task *t = calloc(1, sizeof *t);
            assert_non_null(t);
            t->id = (uint64_t)k + 1;
            t->problem = 1;
            t->head = json_pack("{s:i, s:i}", "id", k + 1, "kind", KGYM_EVALUATE);
            t->body = strdup("");
            assert_true(kg_pool_tasks_add(&s.tasks, t));
        }
        kg_supervisor_feed(&s);
        assert_non_null(worker.task);
        assert_int_equal(json_is_true(json_object_get(worker.task->head, "more")), told[i]);
        while (s.tasks.n > 0) {
            kg_pool_task_destroy(kg_pool_tasks_take(&s.tasks, 0));
        }
        close_all();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_end_that_is_not_known_is_null),
        cmocka_unit_test_setup_teardown(test_a_worker_is_told_of_what_is_left_for_it, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_frame_arrives_whole_however_it_is_cut, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_frames_out_of_form_end_the_channel, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_short_length_costs_the_channel, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_cannot_be_sent_is_refused_whole, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_last_words_are_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_an_honest_result_arrives, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_forged_heads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_forged_records, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_record_of_many_values, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_frames_of_the_wrong_kind, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_frames_out_of_form_cost_the_worker, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_truncated_frame, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_head_that_fills_its_room, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_two_results_for_one_task, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_broken_before_it_is_ready, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_worker_that_cannot_start_costs_no_task, set_up,
                                        tear_down),
        cmocka_unit_test(test_a_record_that_does_not_fit),
        cmocka_unit_test_setup_teardown(test_last_words_of_a_worker, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_descriptors_are_not_taken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_last_words_of_a_supervisor, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_memory_for_a_result, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
