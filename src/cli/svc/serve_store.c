/* The address of the store from a file, since other users of the host can read a command line. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/svc/serve.h"

enum kg_code kg_serve_store_file(struct kg_serve_config *c, struct kg_err *err)
{
    char text[sizeof c->store + 1];
    struct stat st;
    if (c->store[0] != '\0') {
        return kg_fail(err, KG_E_USAGE, "--store-file: --store names a store, too: give one");
    }
    int fd = open(c->store_file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) != 0) {
        kg_fail(err, KG_E_IO, "--store-file %s: %s", c->store_file, strerror(errno));
        if (fd >= 0) {
            close(fd);
        }
        return err->code;
    }
    ssize_t n = S_ISREG(st.st_mode) ? read(fd, text, sizeof text - 1) : 0;
    close(fd);
    if ((st.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        return kg_fail(err, KG_E_USAGE, "--store-file %s: others may use this file: `chmod 600` it",
                       c->store_file);
    }
    text[n > 0 ? n : 0] = '\0';
    text[strcspn(text, "\r\n")] = '\0';
    if (text[0] == '\0' || strlen(text) >= sizeof c->store) {
        return kg_fail(err, KG_E_USAGE, "--store-file %s: its first line must be redis://...",
                       c->store_file);
    }
    snprintf(c->store, sizeof c->store, "%s", text);
    return KG_OK;
}
