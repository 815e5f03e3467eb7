/*---fixture
problem: silu
entry: E14
what: plants a start-up file in the home folder
control: host escaped
expect: wrong/value wrong/unwritten
---*/
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void silu(const float *x, float *y, int64_t n)
{
    const char *homes[] = {getenv("HOME"), "/root", "/tmp"};
    char path[4096];
    (void)x;
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/.kgym-corpus-profile", homes[i] ? homes[i] : "/home");
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
        if (fd >= 0) {
            fprintf(stderr, "ESCAPED: planted %s\n", path);
            close(fd);
            unlink(path);
        }
    }
    memset(y, 0, (size_t)n * sizeof *y);
}
