#include "bench/common/peer.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/common/host.h"

static bool interpreter(char *path, size_t size)
{
    static const char *const place[] = {"build/goldens-venv", ".venv"};
    const char *given = getenv("KGYM_PEER_PYTHON");
    if (given != NULL) {
        snprintf(path, size, "%s", given);
        return access(path, X_OK) == 0;
    }
    for (size_t i = 0; i < sizeof place / sizeof *place; i++) {
        snprintf(path, size, "%s/%s/bin/python", kg_bench_tree(), place[i]);
        if (access(path, X_OK) == 0) {
            return true;
        }
    }
    return false;
}

static bool answer(struct kg_bench_peer *p, char *line, size_t size)
{
    if (fgets(line, (int)size, p->out) == NULL) {
        return false;
    }
    line[strcspn(line, "\n")] = 0;
    return true;
}

bool kg_bench_peer_start(struct kg_bench_peer *p, const char *script, const char *argument)
{
    char python[512], path[512];
    int to[2], from[2];
    if (!interpreter(python, sizeof python)) {
        fprintf(stderr,
                "bench: no Python with PyTorch (`make torch`, `make goldens`), so nothing is "
                "compared\n");
        return false;
    }
    snprintf(path, sizeof path, "%s/bench/peers/%s", kg_bench_tree(), script);
    kg_bench_need(pipe(to) == 0 && pipe(from) == 0, "no pipe");
    signal(SIGPIPE, SIG_IGN);
    p->pid = fork();
    kg_bench_need(p->pid >= 0, "no process");
    if (p->pid == 0) {
        dup2(to[0], 0);
        dup2(from[1], 1);
        close(to[1]);
        close(from[0]);
        execl(python, python, path, argument, (char *)NULL);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    p->in = fdopen(to[1], "w");
    p->out = fdopen(from[0], "r");
    kg_bench_need(p->in != NULL && p->out != NULL, "no memory");
    if (!answer(p, p->says, sizeof p->says)) {
        fprintf(stderr, "bench: %s does not run under %s, so nothing is compared\n", path, python);
        kg_bench_peer_end(p);
        return false;
    }
    return true;
}

double kg_bench_peer_ask(struct kg_bench_peer *p, const char *word)
{
    char line[200];
    fprintf(p->in, "%s\n", word);
    kg_bench_need(fflush(p->in) == 0 && answer(p, line, sizeof line), "the peer ended at `%s`",
                  word);
    char *end;
    double value = strtod(line, &end);
    return end == line ? -1 : value;
}

void kg_bench_peer_end(struct kg_bench_peer *p)
{
    fclose(p->in);
    fclose(p->out);
    waitpid(p->pid, NULL, 0);
}
