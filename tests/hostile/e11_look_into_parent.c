/*---fixture
problem: argmax
entry: E11
what: attaches a debugger's arm to its parent, or to a child that it makes
control: host escaped
expect: wrong/value wrong/unwritten
---*/
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

void argmax(const float *x, int32_t *index, int64_t rows, int64_t cols)
{
    (void)x, (void)cols;
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    if (ptrace(PTRACE_SEIZE, getppid(), 0, 0) == 0 ||
        (child > 0 && ptrace(PTRACE_SEIZE, child, 0, 0) == 0)) {
        fputs("ESCAPED: traces another process\n", stderr);
    }
    if (child > 0) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    memset(index, 0, (size_t)rows * sizeof *index);
}
