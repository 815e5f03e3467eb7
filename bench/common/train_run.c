#include "bench/common/train_run.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/common/host.h"

#define MOST_SETTINGS 40
#define LOOK_US       2000

static long rss_kb(pid_t pid)
{
    char path[64], text[256];
    long kb = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *f = fopen(path, "r");
    while (f != NULL && fgets(text, sizeof text, f) != NULL) {
        if (sscanf(text, "VmRSS: %ld", &kb) == 1) {
            break;
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    return kb;
}

static pid_t start(const struct kg_bench_train *t, const char *folder)
{
    char program[512], config[512], log[600];
    const char *argv[2 * MOST_SETTINGS + 8] = {program, "train", config, "--out", folder};
    int n = 5;
    snprintf(program, sizeof program, "%s/kgym", kg_bench_build());
    snprintf(config, sizeof config, "%s/%s", kg_bench_tree(), t->config);
    snprintf(log, sizeof log, "%s.txt", folder);
    for (int i = 0; t->set[i] != NULL; i++) {
        kg_bench_need(i < MOST_SETTINGS, "too many settings");
        argv[n++] = "--set";
        argv[n++] = t->set[i];
    }
    pid_t pid = fork();
    kg_bench_need(pid >= 0, "no process");
    if (pid == 0) {
        int fd = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0644);
        dup2(fd, 1);
        dup2(fd, 2);
        execv(program, (char **)(void *)argv);
        _exit(127);
    }
    return pid;
}

/* The lines that have come. A line may be there in part: it is read again. */
static void follow(const struct kg_bench_train *t, FILE *f, pid_t pid)
{
    static char text[1 << 16];
    for (long at = ftell(f); fgets(text, sizeof text, f) != NULL; at = ftell(f)) {
        if (strchr(text, '\n') == NULL) {
            fseek(f, at, SEEK_SET);
            return;
        }
        json_t *line = json_loads(text, 0, NULL);
        kg_bench_need(line != NULL, "metrics.jsonl has a line that is no JSON");
        t->line(line, rss_kb(pid), t->ctx);
        json_decref(line);
    }
    clearerr(f);
}

static void show(const char *folder)
{
    char path[600], text[1024];
    snprintf(path, sizeof path, "%s.txt", folder);
    FILE *f = fopen(path, "r");
    while (f != NULL && fgets(text, sizeof text, f) != NULL) {
        fputs(text, stderr);
    }
    if (f != NULL) {
        fclose(f);
    }
}

void kg_bench_train_run(const struct kg_bench_train *t)
{
    char folder[512], path[600];
    int status = 0;
    FILE *f = NULL;
    snprintf(folder, sizeof folder, "%s/%s", kg_bench_folder(), t->folder);
    snprintf(path, sizeof path, "%s/metrics.jsonl", folder);
    pid_t pid = start(t, folder);
    for (bool ended = false; !ended;) {
        ended = waitpid(pid, &status, WNOHANG) == pid;
        f = f != NULL ? f : fopen(path, "r");
        if (f != NULL) {
            follow(t, f, pid);
        }
        usleep(LOOK_US);
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        show(folder);
    }
    kg_bench_need(WIFEXITED(status) && WEXITSTATUS(status) == 0, "kgym train failed");
    if (f != NULL) {
        fclose(f);
    }
}

double kg_bench_train_number(const json_t *line, const char *key)
{
    return json_number_value(json_object_get(line, key));
}
