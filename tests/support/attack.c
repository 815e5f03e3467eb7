#include "tests/support/attack.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"

static char folder[64];
static char programs[16][160];
static size_t nprograms;

int attack_setup(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/kgym-attack-XXXXXX");
    return mkdtemp(folder) != NULL && chmod(folder, 0755) == 0 ? 0 : -1;
}

int attack_teardown(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    return kg_file_remove_tree(folder, &err) == KG_OK ? 0 : -1;
}

const char *attack_folder(void)
{
    return folder;
}

const char *attack_program(const char *name)
{
    char path[160], source[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    for (size_t i = 0; i < nprograms; i++) {
        if (strcmp(programs[i], path) == 0) {
            return programs[i];
        }
    }
    const char *tree = getenv("KGYM_TREE");
    snprintf(source, sizeof source, "%s/tests/fixtures/sandbox/%s.c", tree != NULL ? tree : ".",
             name);
    pid_t pid = fork();
    if (pid == 0) {
        execlp("gcc", "gcc", "-std=gnu17", "-O1", "-o", path, source, (char *)NULL);
        _exit(127);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
    assert_true(nprograms < sizeof programs / sizeof *programs);
    snprintf(programs[nprograms], sizeof programs[0], "%s", path);
    return programs[nprograms++];
}

static int64_t or_else(int64_t given, int64_t usual)
{
    return given != 0 ? given : usual;
}

void attack_start(const struct attack *a, struct kg_sandbox *box, int *reader)
{
    const char *program = attack_program(a->name);
    const char *argv[6] = {program};
    memcpy(argv + 1, a->args, sizeof a->args);
    struct kg_bind binds[2] = {{program, program, false}, a->bind};
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    int fds[] = {-1, ends[1], ends[1]};
    struct kg_sandbox_spec spec = {
        .profile = KG_PROFILE_COMPILE,
        .argv = argv,
        .envp = a->envp,
        .workdir = a->workdir,
        .binds = binds,
        .nbinds = a->bind.src != NULL ? 2 : 1,
        .fds = fds,
        .nfds = 3,
        .limits = {.memory_bytes = or_else(a->memory_mb, 256) << 20,
                   .processes = or_else(a->processes, 32),
                   .file_bytes = or_else(a->file_mb, 64) << 20,
                   .cpu_s = or_else(a->cpu_s, 20),
                   .descriptors = 300},
        .cpu = a->cpu_plus_1 - 1,
        .no_aslr = a->no_aslr,
        .without = a->without,
    };
    struct kg_err err = KG_ERR_INIT;
    if (kg_sandbox_spawn(&spec, box, &err) != KG_OK) {
        fail_msg("%s", err.message);
    }
    close(ends[1]);
    *reader = ends[0];
}

void attack_wait_output(int reader)
{
    struct pollfd p = {.fd = reader, .events = POLLIN};
    assert_int_equal(poll(&p, 1, 5000), 1);
}

/* Reads beside waiting, or a flood would block on the full pipe. */
struct kg_exit attack_run(const struct attack *a, char out[4096], struct kg_isolation *isolation)
{
    struct kg_sandbox box;
    int reader;
    attack_start(a, &box, &reader);
    fcntl(reader, F_SETFL, O_NONBLOCK);
    if (isolation != NULL) {
        *isolation = box.isolation;
    }
    int64_t until = kg_clock_ns() + or_else(a->ms, 10000) * 1000000;
    size_t have = 0;
    for (bool ended = false; !ended && kg_clock_ns() < until;) {
        ended = kg_sandbox_wait(&box, kg_clock_ns() + 1000000);
        char chunk[4096];
        for (ssize_t n; (n = read(reader, chunk, sizeof chunk)) > 0;) {
            size_t take = (size_t)n < 4095 - have ? (size_t)n : 4095 - have;
            if (out != NULL) {
                memcpy(out + have, chunk, take);
            }
            have += take;
            if (kg_clock_ns() > until) {
                break;
            }
        }
    }
    if (out != NULL) {
        out[have] = '\0';
    }
    kg_sandbox_end(&box);
    close(reader);
    return box.exit;
}

bool attack_has(uint32_t steps)
{
    const struct kg_host_caps *c = kg_sandbox_caps();
    for (int i = 0; i < KG_STEP_COUNT; i++) {
        if ((steps & ~c->steps) & (1u << i)) {
            printf("skip: no %s: %s\n", kg_step_name(1 << i), c->why[i]);
            return false;
        }
    }
    return true;
}
