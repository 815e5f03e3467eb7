/* No output is written over an input or over records, whatever they are called. */
#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"

/* False: neither is there, or they are two files. A link, a second name and another spelling of one
 * file all have its device and number. */
static bool same_file(const char *in, const char *out)
{
    struct stat a, b;
    bool known = strcmp(in, "-") == 0 ? fstat(STDIN_FILENO, &a) == 0 : stat(in, &a) == 0;
    return known && stat(out, &b) == 0 && S_ISREG(b.st_mode) && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

/* Does a regular file begin as records do? A page never begins with a brace. */
static bool holds_records(const char *path)
{
    struct stat st;
    char c = 0;
    int fd = stat(path, &st) == 0 && S_ISREG(st.st_mode) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    while (fd >= 0 && read(fd, &c, 1) == 1 && isspace((unsigned char)c)) {
    }
    if (fd >= 0) {
        close(fd);
    }
    return c == '{';
}

enum kg_code kg_cli_spare_input(const char *flag, const char *out, const char *in,
                                struct kg_err *err)
{
    if (in == NULL || !same_file(in, out)) {
        return KG_OK;
    }
    return kg_fail(err, KG_E_USAGE,
                   "%s %s: this is the same file as the input %s, and would replace it; name "
                   "another file",
                   flag, out, strcmp(in, "-") == 0 ? "on standard input" : in);
}

enum kg_code kg_cli_spare_json(const char *flag, const char *out, struct kg_err *err)
{
    return !holds_records(out)
               ? KG_OK
               : kg_fail(err, KG_E_USAGE,
                         "%s %s: this file holds JSON, perhaps records, and would be replaced; "
                         "name another file",
                         flag, out);
}

/* The page replaces what is at out. Records took hours, so a page never replaces any. */
enum kg_code kg_cli_spare_records(const char *in, const char *out, struct kg_err *err)
{
    if (same_file(in, out)) {
        return kg_fail(err, KG_E_USAGE,
                       "--out %s: this is the file of records itself, and the page would replace "
                       "it; name another file, such as report.html",
                       out);
    }
    if (holds_records(out)) {
        return kg_fail(
            err, KG_E_USAGE,
            "--out %s: this file holds JSON, perhaps records, and the page would replace "
            "it; name another file, such as report.html",
            out);
    }
    return KG_OK;
}
