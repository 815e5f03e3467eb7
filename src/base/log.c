/* Writes diagnostics to standard error, a line at a time. */
#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const level_names[] = {"error", "warn", "info", "debug"};
static _Atomic(const char *) current_role = "kgym";
static enum kg_log_level threshold = KG_LOG_WARN;
static pthread_once_t threshold_read = PTHREAD_ONCE_INIT;
static atomic_uint told_here;
static _Atomic(atomic_uint *) told_of_all; /* of several processes, or NULL */

static void read_threshold(void)
{
    const char *wanted = getenv("KGYM_LOG");
    for (size_t i = 0; wanted != NULL && i < sizeof level_names / sizeof *level_names; i++) {
        if (strcmp(wanted, level_names[i]) == 0) {
            threshold = (enum kg_log_level)i;
        }
    }
}

void kg_log_role(const char *role)
{
    atomic_store(&current_role, role);
}

static void write_line(enum kg_log_level level, const char *fmt, va_list ap) KG_PRINTF(2, 0);

static void write_line(enum kg_log_level level, const char *fmt, va_list ap)
{
    int saved_errno = errno;
    pthread_once(&threshold_read, read_threshold);
    if (level <= threshold) {
        char line[1024];
        int head =
            snprintf(line, sizeof line, "%s %s: ", level_names[level], atomic_load(&current_role));
        size_t at = head < 0 ? 0 : (size_t)head;
        at = at < sizeof line / 2 ? at : sizeof line / 2;
        int body = vsnprintf(line + at, sizeof line - at - 1, fmt, ap);
        size_t end = at + (body < 0 ? 0 : (size_t)body);
        end = end < sizeof line - 2 ? end : sizeof line - 2;
        /* A message may quote what a model wrote: it must not draw on a terminal or fake a line. */
        for (size_t i = at; i < end; i++) {
            if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f) {
                line[i] = ' ';
            }
        }
        line[end++] = '\n';
        /* One write, so that lines of several processes do not mix. */
        ssize_t written = write(STDERR_FILENO, line, end);
        (void)written;
    }
    errno = saved_errno;
}

void kg_log(enum kg_log_level level, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    write_line(level, fmt, ap);
    va_end(ap);
}

void kg_log_share(atomic_uint *told)
{
    if (told != NULL) {
        atomic_fetch_or(told, atomic_load(&told_here));
    }
    atomic_store(&told_of_all, told);
}

void kg_log_once(enum kg_log_topic topic, enum kg_log_level level, const char *fmt, ...)
{
    atomic_uint *shared = atomic_load(&told_of_all);
    unsigned before = atomic_fetch_or(shared != NULL ? shared : &told_here, (unsigned)topic);
    if (before & (unsigned)topic) {
        return;
    }
    va_list ap;
    va_start(ap, fmt);
    write_line(level, fmt, ap);
    va_end(ap);
}
