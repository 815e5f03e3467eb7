#include "gym/batch/batch_name.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"

static bool is_name(const struct kg_buf *text)
{
    const size_t n = KG_ULID_LEN - 1;
    return text->len == n + 1 && text->data[n] == '\n' &&
           strspn(text->data, "0123456789ABCDEFGHJKMNPQRSTVWXYZ") == n;
}

static enum kg_code read_name(struct kg_batch_name *n, struct kg_err *err)
{
    struct kg_buf text;
    kg_buf_init(&text, 256);
    enum kg_code code = kg_file_read(n->path, &text, err);
    if (code == KG_OK && !is_name(&text)) {
        code = kg_fail(err, KG_E_INPUT,
                       "%s: this file is not a batch's; it is left as it is (name another output)",
                       n->path);
    }
    if (code == KG_OK) {
        snprintf(n->name, sizeof n->name, "%.*s", (int)sizeof n->name - 1, text.data);
    }
    kg_buf_deinit(&text);
    return code;
}

enum kg_code kg_batch_name_take(struct kg_batch_name *n, const char *output, bool anew,
                                struct kg_err *err)
{
    char line[KG_ULID_LEN + 1];
    int len = snprintf(n->path, sizeof n->path, "%s.run", output);
    if (len < 0 || (size_t)len >= sizeof n->path) {
        return kg_fail(err, KG_E_LIMIT, "%s: path too long", output);
    }
    if (kg_file_exists(n->path) && (read_name(n, err) != KG_OK || !anew)) {
        return err->code;
    }
    if (kg_ulid_new(n->name, err) != KG_OK) {
        return err->code;
    }
    snprintf(line, sizeof line, "%s\n", n->name);
    return kg_file_write_atomic(n->path, line, strlen(line), err);
}

void kg_batch_name_drop(const struct kg_batch_name *n)
{
    if (n->path[0] != '\0') {
        (void)!unlink(n->path);
    }
}
