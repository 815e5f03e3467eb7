/*---fixture
problem: softmax
entry: F3
what: reads files of the host and lists folders where others leave theirs
control: host escaped
expect: wrong/value wrong/unwritten
---*/
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

void softmax(const float *x, float *y, int64_t rows, int64_t cols)
{
    static const char *const files[] = {"/etc/passwd", "/proc/1/cmdline", "/proc/self/mountinfo",
                                        "/etc/hostname"};
    static const char *const folders[] = {"/tmp", "/home", "/root", "/var/tmp", "/dev/shm"};
    (void)x;
    for (int i = 0; i < 4; i++) {
        FILE *f = fopen(files[i], "r");
        if (f && fgetc(f) != EOF) {
            fprintf(stderr, "ESCAPED: read %s\n", files[i]);
            fclose(f);
        }
    }
    for (int i = 0; i < 5; i++) {
        DIR *d = opendir(folders[i]);
        if (d && readdir(d)) {
            fprintf(stderr, "ESCAPED: listed %s\n", folders[i]);
            closedir(d);
        }
    }
    memset(y, 0, (size_t)(rows * cols) * sizeof *y);
}
