/* Who of a batch's processes is who, for tests that kill one of them: the batch judges PyTorch
 * candidates, its workers are its children, and a worker's are its judge, its zygote and, through
 * that, its runners. Everything is static: each test program has its own. */
#ifndef KG_TESTS_UNIT_TORCH_VICTIMS_H
#define KG_TESTS_UNIT_TORCH_VICTIMS_H

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/rng.h"

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
    int n = children(batch, worker, 8);
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

#endif
