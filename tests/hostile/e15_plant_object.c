/*---fixture
problem: axpby
entry: E15
what: plants an object in the folder of compiled candidates
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

void axpby(const float *x, const float *y, float *z, float alpha, float beta, int64_t n)
{
    const char *home = getenv("HOME");
    char path[4200], dir[4096];
    (void)x, (void)y, (void)alpha, (void)beta;
    snprintf(dir, sizeof dir, "%s/.cache", home ? home : "/root");
    mkdir(dir, 0755);
    snprintf(path, sizeof path, "%s/kgym-corpus-object.so", dir);
    int fd = open(path, O_WRONLY | O_CREAT, 0755);
    if (fd >= 0) {
        fputs("ESCAPED: planted an object\n", stderr);
        close(fd);
        unlink(path);
    }
    memset(z, 0, (size_t)n * sizeof *z);
}
