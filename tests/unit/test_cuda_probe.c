/* The device side of a runner: what the judge exported, mapped in another process; the allocator
 * over OUT. Loads libkgym_probe as Python does. */
#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/message.h"
#include "cuda_rig.h"
#include "gym/device/cuda_api.h"
#include "probe/probe_cuda.h"

#define MB    ((uint64_t)1 << 20)
#define BYTES (16 * MB)

struct probe {
    __typeof__(kg_probe_cuda_attach) *attach;
    __typeof__(kg_probe_cuda_null) *null;
    __typeof__(kg_probe_cuda_finish) *finish;
    __typeof__(kg_probe_cuda_sync) *sync;
    __typeof__(kg_probe_cuda_gate) *gate;
    __typeof__(kg_probe_cuda_post) *post;
    __typeof__(kg_probe_cuda_error) *error;
    __typeof__(kg_out_range) *range;
    __typeof__(kg_out_used) *used;
    __typeof__(kg_out_shuffle) *shuffle;
    __typeof__(kg_out_alloc) *alloc;
    __typeof__(kg_out_free) *give;
};

static bool probe_load(struct probe *p)
{
    char path[512];
    const char *build = getenv("KGYM_BUILD");
    snprintf(path, sizeof path, "%s/libkgym_probe.so", build ? build : "build/release");
    void *library = dlopen(path, RTLD_NOW);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return false;
    }
    *(void **)&p->attach = dlsym(library, "kg_probe_cuda_attach");
    *(void **)&p->null = dlsym(library, "kg_probe_cuda_null");
    *(void **)&p->finish = dlsym(library, "kg_probe_cuda_finish");
    *(void **)&p->sync = dlsym(library, "kg_probe_cuda_sync");
    *(void **)&p->gate = dlsym(library, "kg_probe_cuda_gate");
    *(void **)&p->post = dlsym(library, "kg_probe_cuda_post");
    *(void **)&p->error = dlsym(library, "kg_probe_cuda_error");
    *(void **)&p->range = dlsym(library, "kg_out_range");
    *(void **)&p->used = dlsym(library, "kg_out_used");
    *(void **)&p->shuffle = dlsym(library, "kg_out_shuffle");
    *(void **)&p->alloc = dlsym(library, "kg_out_alloc");
    *(void **)&p->give = dlsym(library, "kg_out_free");
    return p->attach && p->null && p->finish && p->sync && p->gate && p->post && p->error &&
           p->range && p->used && p->shuffle && p->alloc && p->give;
}

/* A child, born before anybody has opened the device, does `work` once it has got two descriptors;
 * its exit status is what came out. */
struct child {
    pid_t pid;
    int sock;
};

static struct child child_start(int (*work)(const struct probe *, const int fds[2], uint64_t bytes))
{
    struct child c;
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    c.pid = fork();
    if (c.pid == 0) {
        struct probe p;
        int fds[KG_MESSAGE_FDS], n;
        uint64_t bytes = 0;
        close(pair[0]);
        rig_choose_driver();
        if (!probe_load(&p) ||
            kg_message_receive(pair[1], &bytes, sizeof bytes, fds, &n) != sizeof bytes || n != 2) {
            _exit(100);
        }
        _exit(work(&p, fds, bytes));
    }
    close(pair[1]);
    c.sock = pair[0];
    return c;
}

static int child_end(struct child *c, const int fds[2], uint64_t bytes)
{
    int status = 0;
    assert_true(kg_message_send(c->sock, &bytes, sizeof bytes, fds, 2));
    assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
    close(c->sock);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 200;
}

/* The driver's own functions, for copies in the child. */
static int copy_over(uint64_t to, uint64_t from, uint64_t bytes)
{
    struct kg_cu cu;
    struct kg_err err = KG_ERR_INIT;
    if (kg_cu_load(getenv("KGYM_LIBCUDA"), &cu, &err) != KG_OK) {
        return -1;
    }
    return cu.copy(to, from, bytes, NULL) == 0 && cu.ctx_sync() == 0 ? 0 : -1;
}

static int doubles_back(const struct probe *p, const int fds[2], uint64_t bytes)
{
    struct kg_probe_map m;
    static struct kg_twire w;
    if (p->null(NULL) == 0 || p->sync() == 0 || p->finish(&w, 7, 0) == 0 || w.done == 7) {
        return 1; /* not attached yet */
    }
    if (p->attach(0, fds[0], bytes, fds[1], bytes, &m) != 0) {
        fprintf(stderr, "%s\n", p->error());
        return 2;
    }
    if (p->finish(&w, 7, 0) != 0 || w.done != 7 || w.call_ns == 0) {
        return 4;
    }
    if (p->null(NULL) != 0 || m.in_bytes != bytes || m.out_bytes != bytes) {
        return 3;
    }
    p->range(1 << 20, bytes);
    char *a = p->alloc(5000, 0, NULL), *b = p->alloc(5000, 0, NULL);
    uint64_t inside, outside;
    p->used(&inside, &outside);
    if ((uint64_t)(uintptr_t)a != m.out + (1 << 20) || b != a + 5120 || inside != 2 * 5120) {
        return 4;
    }
    char *large = p->alloc((ssize_t)bytes, 0, NULL); /* does not fit: from the device */
    p->used(&inside, &outside);
    bool out = (uint64_t)(uintptr_t)large < m.out || (uint64_t)(uintptr_t)large >= m.out + bytes;
    if (large == NULL || !out || outside != bytes) {
        return 5;
    }
    p->give(large, (ssize_t)bytes, 0, NULL);
    p->used(&inside, &outside);
    if (outside != 0 || copy_over((uint64_t)(uintptr_t)b, m.in, 5000) != 0) {
        return 6;
    }
    p->give(a, 5000, 0, NULL);
    return p->alloc(100, 0, NULL) == a && p->sync() == 0 ? 0 : 7;
}

struct release {
    struct kg_twire *w;
    uint32_t number;
    int64_t ns;
};

static void *release_late(void *arg)
{
    struct release *r = arg;
    usleep(50000);
    r->ns = kg_clock_ns();
    atomic_store(&r->w->go, r->number);
    return NULL;
}

/* What is launched behind the gate is not done before the word is there, and the device posts it.
 * The fake device does not wait; it refuses a place in memory that it was not told of. Code is
 * loaded first: a device that holds something back loads none. */
static int held_back(const struct probe *p, const int fds[2], uint64_t bytes)
{
    static _Alignas(4096) struct kg_twire w;
    struct kg_probe_map m;
    struct release r = {&w, 41, 0};
    pthread_t thread;
    bool real = getenv("KGYM_LIBCUDA") == NULL;
    if (p->gate(&w, NULL, 41) == 0 || p->post(&w, NULL, 41) == 0) {
        return 1; /* not attached yet */
    }
    if (p->attach(0, fds[0], bytes, fds[1], bytes, &m) != 0 || p->null(NULL) != 0) {
        return 2;
    }
    for (int i = 0; i < 3; i++, r.number += 1000000000u) { /* numbers wrap */
        if (p->gate(&w, NULL, r.number) != 0 || p->null(NULL) != 0 ||
            p->post(&w, NULL, r.number) != 0 || (real && atomic_load(&w.done) == r.number)) {
            return 3;
        }
        if (pthread_create(&thread, NULL, release_late, &r) != 0 || p->sync() != 0) {
            return 4;
        }
        int64_t done = kg_clock_ns();
        pthread_join(thread, NULL);
        if ((real && (r.ns == 0 || done < r.ns)) || atomic_load(&w.done) != r.number) {
            return 5;
        }
    }
    return p->gate(&w, NULL, w.go) == 0 && p->null(NULL) == 0 && p->sync() == 0 ? 0 : 6;
}

/* Blocks never overlap, and what was given back becomes one piece again. */
static int allocates_at_random(const struct probe *p, const int fds[2], uint64_t bytes)
{
    struct kg_probe_map m;
    struct kg_rng rng;
    struct {
        uint64_t at, bytes;
    } held[64] = {{0, 0}};
    uint64_t inside, outside;
    if (p->attach(0, fds[0], bytes, fds[1], bytes, &m) != 0) {
        return 1;
    }
    p->range(100, bytes - 1); /* rounded inwards */
    kg_rng_init(&rng, (struct kg_key){{3, 4}}, 0);
    for (int i = 0; i < 5000; i++) {
        uint64_t k = kg_rng_below(&rng, 64), n = 1 + kg_rng_below(&rng, 20000);
        if (held[k].at != 0) {
            p->give((void *)(uintptr_t)held[k].at, (ssize_t)held[k].bytes, 0, NULL);
        }
        held[k].at = (uint64_t)(uintptr_t)p->alloc((ssize_t)n, 0, NULL);
        held[k].bytes = n;
        for (uint64_t o = 0; o < 64; o++) {
            bool apart = o == k || held[o].at == 0 || held[k].at + n <= held[o].at ||
                         held[o].at + held[o].bytes <= held[k].at;
            if (held[k].at % 512 != m.out % 512 || !apart) {
                return 2;
            }
        }
    }
    for (int k = 0; k < 64; k++) {
        p->give((void *)(uintptr_t)held[k].at, (ssize_t)held[k].bytes, 0, NULL);
    }
    p->give((void *)(uintptr_t)m.out, 512, 0, NULL); /* nothing begins there: no harm */
    p->used(&inside, &outside);
    kg_rng_deinit(&rng);
    uint64_t whole = (uint64_t)(uintptr_t)p->alloc((ssize_t)(bytes - 1024), 0, NULL);
    return inside == 0 && outside == 0 && whole == m.out + 512 ? 0 : 3;
}

static uint64_t take(const struct probe *p, uint64_t bytes)
{
    return (uint64_t)(uintptr_t)p->alloc((ssize_t)bytes, 0, NULL);
}

static void give(const struct probe *p, uint64_t at, uint64_t bytes)
{
    p->give((void *)(uintptr_t)at, (ssize_t)bytes, 0, NULL);
}

/* Pages that blocks of so many bytes begin at in 64 rounds, from `base` on: at most `room` bytes
 * behind it, and never on what stays; 0: something is wrong. */
static uint64_t pages_seen(const struct probe *p, uint64_t base, uint64_t room, uint64_t bytes,
                           uint64_t stays)
{
    uint64_t seen = 0, parts[KG_OUT_PARTS];
    for (int i = 0; i < 64; i++) {
        uint64_t at = take(p, bytes);
        if (at < base || at > base + room || (at < stays + MB && stays < at + bytes)) {
            return 0;
        }
        seen |= (uint64_t)1 << (at - base) / (2 * MB);
        give(p, at, bytes);
        if (p->shuffle(parts) != 1 || parts[0] != bytes) {
            return 0;
        }
    }
    return seen;
}

/* Blocks of OUT, and of what does not fit there, are elsewhere each time; what is held stays. */
static int lies_elsewhere(const struct probe *p, const int fds[2], uint64_t bytes)
{
    struct kg_probe_map m;
    uint64_t parts[KG_OUT_PARTS], used[2];
    void *driver = dlopen(getenv("KGYM_LIBCUDA"), RTLD_NOW);
    size_t (*live)(void) = NULL;
    *(void **)&live = driver != NULL ? dlsym(driver, "kg_fake_cuda_live") : NULL;
    if (p->attach(0, fds[0], bytes, fds[1], bytes, &m) != 0) {
        return 1;
    }
    p->range(4 * MB, bytes);
    uint64_t stays = take(p, MB), base = m.out + 4 * MB;
    uint64_t seen = pages_seen(p, base, bytes - 6 * MB, 2 * MB, stays);
    if (stays != base || __builtin_popcountll(seen) < 3) {
        return 2;
    }
    p->used(&used[0], &used[1]);
    uint64_t rest =
        take(p, bytes - 5 * MB); /* wherever blocks begin, all that is free can be had */
    if (used[0] != MB || used[1] != 0 || rest != base + MB) {
        return 3;
    }
    uint64_t first = take(p, 9 * MB), lowest = first; /* no room: from the device */
    for (int i = 0; i < 64; i++) {
        give(p, first, 9 * MB);
        if (p->shuffle(parts) != 1) {
            return 4;
        }
        first = take(p, 9 * MB);
        lowest = first < lowest ? first : lowest;
    }
    give(p, first, 9 * MB);
    p->shuffle(parts);
    seen = pages_seen(p, lowest, 16 * MB, 9 * MB, stays);
    p->used(&used[0], &used[1]);
    if (__builtin_popcountll(seen) < 3 || used[1] != 0) {
        return 5;
    }
    size_t before = live != NULL ? live() : 0;
    p->shuffle(parts); /* the last call did without it */
    return live == NULL || (before >= 9 * MB && live() + 9 * MB <= before) ? 0 : 6;
}

static int says_why_not(const struct probe *p, const int fds[2], uint64_t bytes)
{
    struct kg_probe_map m;
    (void)fds;
    int fd = open("/dev/null", O_RDONLY); /* no exported memory */
    if (p->attach(0, fd, bytes, fd, bytes, &m) == 0) {
        return 1;
    }
    return strncmp(p->error(), "import", 6) == 0 && p->null(NULL) != 0 ? 0 : 2;
}

static void with_device(struct child *c, int want, bool look)
{
    void *state = NULL;
    assert_int_equal(rig_open(&state), 0);
    struct rig *r = state;
    uint64_t in, out, n = BYTES, m = BYTES;
    int fds[2];
    unsigned char *v = rig_bytes(5000, 11), got[5000];
    assert_int_equal(r->d.ops->export(&r->d, &n, true, &in, &fds[0], &r->err), KG_OK);
    assert_int_equal(r->d.ops->export(&r->d, &m, false, &out, &fds[1], &r->err), KG_OK);
    r->d.ops->upload(&r->d, in, v, 5000);
    assert_int_equal(r->d.ops->sync(&r->d, &r->err), KG_OK);
    assert_int_equal(child_end(c, fds, n), want);
    if (look) {
        uint64_t at = out + (1 << 20) + 5120;
        assert_int_equal(r->d.ops->download(&r->d, got, at, 5000, &r->err), KG_OK);
        assert_memory_equal(got, v, 5000);
    }
    close(fds[0]);
    close(fds[1]);
    free(v);
    rig_close(&state);
}

static struct child children[5];

/* Before this process has opened a device: a context does not outlive a fork. */
static int start_children(void **state)
{
    (void)state;
    children[0] = child_start(doubles_back);
    children[1] = child_start(says_why_not);
    children[2] = child_start(allocates_at_random);
    children[3] = child_start(lies_elsewhere);
    children[4] = child_start(held_back);
    return 0;
}

static void another_process_works_on_what_was_exported(void **state)
{
    (void)state;
    with_device(&children[0], 0, true);
}

static void what_is_no_exported_memory_is_refused(void **state)
{
    (void)state;
    with_device(&children[1], 0, false);
}

static void blocks_do_not_overlap(void **state)
{
    (void)state;
    with_device(&children[2], 0, false);
}

static void blocks_lie_elsewhere_each_time(void **state)
{
    (void)state;
    with_device(&children[3], 0, false);
}

static void launches_wait_for_the_release(void **state)
{
    (void)state;
    with_device(&children[4], 0, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_process_works_on_what_was_exported),
        cmocka_unit_test(what_is_no_exported_memory_is_refused),
        cmocka_unit_test(blocks_do_not_overlap),
        cmocka_unit_test(blocks_lie_elsewhere_each_time),
        cmocka_unit_test(launches_wait_for_the_release),
    };
    return cmocka_run_group_tests(tests, start_children, NULL);
}
