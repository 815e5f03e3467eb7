#include "bench/common/svc_redis.h"

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/common/host.h"

enum { READY_TRIES = 500, READY_US = 20000 };

bool kg_bench_redis_start(char *place, int n, pid_t *pid)
{
    static const char program[] = "/usr/bin/redis-server";
    char config[4096], socket[4096];
    if (access(program, X_OK) != 0) {
        return false;
    }
    snprintf(config, sizeof config, "%.4000s/redis.conf", kg_bench_folder());
    snprintf(socket, sizeof socket, "%.4000s/redis.socket", kg_bench_folder());
    FILE *f = fopen(config, "w");
    kg_bench_need(f != NULL, "%s", config);
    fprintf(f,
            "port 0\nunixsocket %s\ndir %s\nlogfile %s/redis.log\nappendonly yes\n"
            "appendfsync always\nmaxmemory-policy noeviction\nsave \"\"\n",
            socket, kg_bench_folder(), kg_bench_folder());
    fclose(f);
    fflush(NULL);
    *pid = fork();
    if (*pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execl(program, "redis-server", config, (char *)NULL);
        _exit(127);
    }
    for (int i = 0; access(socket, R_OK) != 0; i++) {
        kg_bench_need(i < READY_TRIES, "redis-server did not start");
        usleep(READY_US);
    }
    snprintf(place, (size_t)n, "redis+unix://%s", socket);
    return true;
}

void kg_bench_redis_stop(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}
