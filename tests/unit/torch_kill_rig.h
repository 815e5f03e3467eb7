/* For tests that kill the gym's own processes while PyTorch candidates are judged: kgym_rig.h's
 * folder and commands, a problem, and who is who. kgym has one child, the supervisor of its pool;
 * that one's are the workers, and a worker's are its judge, its zygote and, through that, its
 * runners. TEST_DEVICE: another device than cpu. Everything is static: each test program has its
 * own. */
#ifndef KG_TESTS_UNIT_TORCH_KILL_RIG_H
#define KG_TESTS_UNIT_TORCH_KILL_RIG_H

#include "kgym_rig.h"

#include <time.h>

#include "base/rng.h"

#define MODULE "import os\nimport torch\nimport torch.nn as nn\n\n\n"
#define NEW    MODULE "class ModelNew(nn.Module):\n    def forward(self, x):\n"

enum victim { JUDGE, ZYGOTE, REFERENCE, CANDIDATE, WORKER, SUPERVISOR, VICTIMS };
static const char *const victim_names[VICTIMS] = {"judge",     "zygote", "reference",
                                                  "candidate", "worker", "supervisor"};

static inline int children(pid_t pid, long *out, int most)
{
    char path[96];
    int n = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    struct dirent *e;
    while (tasks && (e = readdir(tasks))) {
        snprintf(path, sizeof path, "/proc/%d/task/%.20s/children", (int)pid, e->d_name);
        FILE *f = e->d_name[0] == '.' ? NULL : fopen(path, "re");
        while (f && n < most && fscanf(f, "%ld", &out[n]) == 1) {
            n++;
        }
        if (f) {
            fclose(f);
        }
    }
    if (tasks) {
        closedir(tasks);
    }
    return n;
}

/* Of a process kgym that evaluates. */
static inline int workers(pid_t kgym, long *out, int most)
{
    long supervisor[4];
    int n = 0, m = children(kgym, supervisor, 4);
    for (int i = 0; i < m; i++) {
        n += children((pid_t)supervisor[i], out + n, most - n);
    }
    return n;
}

static inline bool text_has(long pid, const char *file, const char *what)
{
    char path[64], text[8192];
    snprintf(path, sizeof path, "/proc/%ld/%s", pid, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text);
    if (fd >= 0) {
        close(fd);
    }
    return n > 0 && memmem(text, (size_t)n, what, strlen(what)) != NULL;
}

/* In a pid namespace of its own: two numbers. */
static inline bool is_runner(long pid)
{
    char path[64], line[256];
    int own = 0, inner = 0, n = 0;
    snprintf(path, sizeof path, "/proc/%ld/status", pid);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f)) {
        if (strncmp(line, "NSpid:", 6) == 0) {
            n = sscanf(line + 6, "%d %d", &own, &inner);
        }
    }
    if (f) {
        fclose(f);
    }
    return n == 2;
}

/* Its file is there under this name where it has a file system of its own. */
static inline bool is_candidate(long pid)
{
    return is_runner(pid) && text_has(pid, "root/kgym/source.py", "class ModelNew");
}

/* Nor does that ever change. What is neither (being born, a spare) may become a candidate before
 * the signal arrives. */
static inline bool is_reference(long pid)
{
    return is_runner(pid) && text_has(pid, "root/kgym/source.py", "class Model(nn.Module)");
}

static inline bool is_judge(long pid)
{
    return text_has(pid, "comm", "kgym-djudge");
}

/* One of a worker's that is drawn, or that worker, or the batch itself; 0: none is there. */
static inline long find_victim(pid_t batch, enum victim kind, struct kg_rng *rng)
{
    long worker[8], child[32];
    if (kind == SUPERVISOR) {
        return batch;
    }
    int n = workers(batch, worker, 8);
    if (n == 0) {
        return 0;
    }
    long w = worker[kg_rng_below(rng, (uint64_t)n)];
    int m = children((pid_t)w, child, 32);
    for (int i = 0; i < m; i++) {
        bool runner = is_runner(child[i]), reference = runner && is_reference(child[i]);
        if ((kind == JUDGE && is_judge(child[i])) ||
            (kind == ZYGOTE && !runner && text_has(child[i], "cmdline", "kgym_harness.zygote")) ||
            (kind == CANDIDATE && runner && !reference) || (kind == REFERENCE && reference)) {
            return child[i];
        }
    }
    return kind == WORKER && m > 0 ? w : 0;
}

static inline void rest_ms(int64_t ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

static inline bool on_gpu(void)
{
    const char *device = getenv("TEST_DEVICE");
    return device && strcmp(device, "cpu") != 0;
}

static inline void need_torch(void)
{
    setenv("D", on_gpu() ? getenv("TEST_DEVICE") : "cpu", 1);
    rig_text("double.py", MODULE "class Model(nn.Module):\n    def forward(self, x):\n"
                                 "        return 2 * torch.relu(x)\n\n\n"
                                 "def get_inputs():\n    return [torch.randn(8, 8)]\n\n\n"
                                 "def get_init_inputs():\n    return []\n");
    rig_text("good.py", NEW "        return 2 * torch.clamp(x, min=0)\n");
    if (rig_run("exec $K eval double.py good.py --device $D") == 2 &&
        strstr(rig.err.data, "make torch")) {
        printf("skip: %.300s\n", rig.err.data);
        skip();
    }
    assert_int_equal(rig.status, 0);
}

static inline bool over(pid_t pid)
{
    siginfo_t si = {0};
    return waitid(P_PID, (id_t)pid, &si, WEXITED | WNOHANG | WNOWAIT) != 0 || si.si_pid != 0;
}

/* All that was ever seen of the batches is gone: zygotes and runners do not carry $TMPDIR. */
static inline void nobody_left(void)
{
    for (int i = 0; i < rig_seen.n; i++) {
        for (int k = 0; k < 500 && text_has(rig_seen.pid[i], "cmdline", "kgym"); k++) {
            rest_ms(20);
        }
        if (text_has(rig_seen.pid[i], "cmdline", "kgym")) {
            fail_msg("process %ld is left", rig_seen.pid[i]);
        }
    }
}

#endif
