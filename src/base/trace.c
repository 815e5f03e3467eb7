/* Appends spans of this process to a trace that all processes of a command share. */
#include "base/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

static char file[PATH_MAX];
static int fd = -1;
static pid_t owner; /* of fd: a fork may have closed it, and opened another file there */

enum kg_code kg_trace_to(const char *path, struct kg_err *err)
{
    int made = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    bool good = made >= 0 && write(made, "[\n", 2) == 2 && realpath(path, file) != NULL;
    int why = errno;
    if (made >= 0) {
        close(made);
    }
    if (!good) {
        file[0] = '\0';
        return kg_fail(err, KG_E_IO, "%s: cannot write: %s", path, strerror(why));
    }
    owner = 0;
    return KG_OK;
}

enum kg_code kg_trace_join(const char *path, struct kg_err *err)
{
    if (!realpath(path, file)) {
        int why = errno;
        file[0] = '\0';
        return kg_fail(err, KG_E_IO, "%s: no trace to add to: %s", path, strerror(why));
    }
    owner = 0;
    return KG_OK;
}

void kg_trace_span(int64_t begun_ns, const char *kind, const char *name)
{
    kg_trace_span_of(begun_ns, kg_clock_ns(), kind, name);
}

void kg_trace_span_of(int64_t begun_ns, int64_t ended_ns, const char *kind, const char *name)
{
    char line[256];
    if (!file[0]) {
        return;
    }
    int64_t ns = ended_ns - begun_ns;
    if (owner != getpid()) {
        owner = getpid();
        fd = open(file, O_WRONLY | O_APPEND | O_CLOEXEC);
    }
    int n = snprintf(line, sizeof line,
                     "{\"name\":\"%s\",\"cat\":\"%s\",\"ph\":\"X\",\"ts\":%.3f,\"dur\":%.3f,"
                     "\"pid\":%d,\"tid\":%d},\n",
                     name, kind, (double)begun_ns / 1e3, (double)ns / 1e3, (int)owner, (int)owner);
    if (fd >= 0 && n > 0 && (size_t)n < sizeof line) {
        (void)!write(fd, line, (size_t)n); /* as a whole: O_APPEND */
    }
}
