/* Runs one fuzz target without libFuzzer: every seed of its corpus, then seeded mutations of them.
 * The same inputs each time, so that `make test` either always finds a defect or never. The
 * target's name is the program's: replay_fuzz_yaml reads $KGYM_TREE/fuzz/corpus/yaml. Input that
 * crashes is left in $KGYM_BUILD/replay_fuzz_yaml.crash. */
#include "fuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/rng.h"

enum { SEEDS_MAX = 1000, SEED_MAX_BYTES = 1 << 20, MUTATIONS = 2000, SECONDS_MAX = 300 };

static struct seed {
    char *path, *bytes;
    size_t n;
} seeds[SEEDS_MAX];
static size_t n_seeds;

static char crash_path[4096];
static const uint8_t *current;
static size_t current_size;

/* Only what a signal handler may call. */
static void save_current(void)
{
    int fd = open(crash_path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd >= 0) {
        ssize_t written = write(fd, current, current_size);
        (void)written;
        close(fd);
    }
}

static void on_signal(int number)
{
    save_current();
    signal(number, SIG_DFL);
    raise(number);
}

/* The sanitizers end a program without a signal; absent in a plain build. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static int add_seed(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)ftw;
    if (type != FTW_F) {
        return 0;
    }
    struct kg_buf b;
    struct kg_err err = KG_ERR_INIT;
    kg_buf_init(&b, SEED_MAX_BYTES);
    if (n_seeds == SEEDS_MAX || kg_file_read(path, &b, &err) != KG_OK) {
        fprintf(stderr, "%s: %s\n", path, err.message[0] ? err.message : "too many seeds");
        kg_buf_deinit(&b);
        return -1;
    }
    seeds[n_seeds].path = strdup(path);
    seeds[n_seeds].n = b.len;
    seeds[n_seeds].bytes = kg_buf_detach(&b);
    return seeds[n_seeds].path == NULL || seeds[n_seeds++].bytes == NULL ? -1 : 0;
}

/* The order of a folder is the file system's; the mutations must not depend on it. */
static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct seed *)a)->path, ((const struct seed *)b)->path);
}

static void run_one(const char *bytes, size_t n)
{
    /* A copy of exactly this size: reading past it is seen by AddressSanitizer. */
    uint8_t *copy = malloc(n > 0 ? n : 1);
    KG_ASSERT(copy != NULL);
    memcpy(copy, bytes, n);
    current = copy;
    current_size = n;
    LLVMFuzzerTestOneInput(copy, n);
    free(copy);
}

static void flip_bits(struct kg_rng *r, char *bytes, size_t n)
{
    for (uint64_t i = 1 + kg_rng_below(r, 8); n > 0 && i > 0; i--) {
        bytes[kg_rng_below(r, n)] ^= (char)(1 << kg_rng_below(r, 8));
    }
}

/* The beginning of one seed and the end of another. */
static void join_parts(struct kg_rng *r, const struct seed *a, const struct seed *b,
                       struct kg_buf *out)
{
    size_t end = kg_rng_below(r, a->n + 1), start = kg_rng_below(r, b->n + 1);
    kg_buf_add(out, a->bytes, end);
    kg_buf_add(out, b->bytes + start, b->n - start);
}

static void run_mutation(struct kg_rng *r)
{
    const struct seed *s = &seeds[kg_rng_below(r, n_seeds)];
    struct kg_buf b;
    kg_buf_init(&b, 2 * SEED_MAX_BYTES);
    uint64_t kind = kg_rng_below(r, 4);
    if (kind == 0) {
        kg_buf_add(&b, s->bytes, kg_rng_below(r, s->n + 1));
    } else if (kind == 1) {
        join_parts(r, s, &seeds[kg_rng_below(r, n_seeds)], &b);
    } else {
        kg_buf_add(&b, s->bytes, s->n);
    }
    if (kind >= 2) {
        flip_bits(r, b.data, b.len);
    }
    run_one(b.data, b.len);
    kg_buf_deinit(&b);
}

static void watch_for_crashes(const char *name)
{
    static const int signals[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGALRM};
    const char *build = getenv("KGYM_BUILD");
    snprintf(crash_path, sizeof crash_path, "%s/%s.crash", build == NULL ? "." : build, name);
    if (__sanitizer_set_death_callback != NULL) {
        __sanitizer_set_death_callback(save_current);
    } else {
        for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
            signal(signals[i], on_signal);
        }
    }
    alarm(SECONDS_MAX); /* an input that never ends */
}

int main(void)
{
    static const char prefix[] = "replay_fuzz_";
    const char *name = program_invocation_short_name, *tree = getenv("KGYM_TREE");
    if (strncmp(name, prefix, strlen(prefix)) != 0) {
        fprintf(stderr, "%s: must be called %sNAME\n", name, prefix);
        return 2;
    }
    char corpus[4096];
    snprintf(corpus, sizeof corpus, "%s/fuzz/corpus/%s", tree == NULL ? "." : tree,
             name + strlen(prefix));
    printf("[ RUN      ] corpus\n");
    fflush(stdout);
    if (nftw(corpus, add_seed, 16, FTW_PHYS) != 0 || n_seeds == 0) {
        printf("%s: no seeds\n[  FAILED  ] corpus\n", corpus);
        return 1;
    }
    qsort(seeds, n_seeds, sizeof *seeds, by_path);
    watch_for_crashes(name);
    run_one("", 0);
    for (size_t i = 0; i < n_seeds; i++) {
        run_one(seeds[i].bytes, seeds[i].n);
    }
    struct kg_rng r;
    kg_rng_init(&r, (struct kg_key){{2, 2000}}, 0);
    for (int i = 0; i < MUTATIONS; i++) {
        run_mutation(&r);
    }
    kg_rng_deinit(&r);
    printf("%zu seeds, %d mutations (seed 2,2000)\n[       OK ] corpus\n", n_seeds, MUTATIONS);
    for (size_t i = 0; i < n_seeds; i++) {
        free(seeds[i].path);
        free(seeds[i].bytes);
    }
    return 0;
}
