/* Reads files of JSON objects line by line, and names what cannot be read. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "rl/page/lines.h"

void rl_note(struct rl_notes *notes, const char *fmt, ...)
{
    va_list ap;
    if (notes->n == RL_NOTES) {
        notes->more++;
        return;
    }
    va_start(ap, fmt);
    vsnprintf(notes->text[notes->n++], sizeof notes->text[0], fmt, ap);
    va_end(ap);
}

bool rl_lines_open(struct rl_lines *l, const char *folder, const char *name, struct rl_notes *notes)
{
    char path[4096];
    *l = (struct rl_lines){.name = name, .notes = notes};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    l->file = fopen(path, "re");
    if (l->file == NULL) {
        rl_note(notes, "%s: %s", name, errno == ENOENT ? "is not there" : strerror(errno));
        return false;
    }
    kg_buf_init(&l->line, RL_LINE_MAX);
    return true;
}

/* Reads to the end of a line. False: nothing is left. */
static bool read_line(struct rl_lines *l)
{
    int c = EOF;
    kg_buf_reset(&l->line);
    l->line.truncated = false;
    l->at = l->end;
    while ((c = getc_unlocked(l->file)) != EOF && c != '\n') {
        kg_buf_addc(&l->line, (char)c);
        l->end++;
    }
    l->end += c == '\n';
    l->number++;
    l->cut = c == EOF && l->line.len > 0;
    return c != EOF || l->line.len > 0;
}

json_t *rl_lines_next(struct rl_lines *l)
{
    while (read_line(l)) {
        struct kg_err err = KG_ERR_INIT;
        json_t *j = NULL;
        if (l->line.len == 0) {
            continue;
        }
        bool ok = kg_buf_ok(&l->line) &&
                  kg_json_parse_line(l->line.data, l->line.len, l->name, &j, &err) == KG_OK;
        if (ok && json_is_object(j)) {
            l->used++;
            return j;
        }
        json_decref(j);
        if (l->bad++ < 3) {
            rl_note(l->notes, "%s:%ld: %s: left out", l->name, l->number,
                    l->cut                ? "the last line is cut off"
                    : kg_buf_ok(&l->line) ? "no JSON object"
                                          : "longer than 4 MB");
        }
    }
    return NULL;
}

json_t *rl_lines_again(struct rl_lines *l, int64_t at)
{
    struct kg_err err = KG_ERR_INIT;
    json_t *j = NULL;
    if (l->file == NULL || fseeko(l->file, at, SEEK_SET) != 0) {
        return NULL;
    }
    l->end = at;
    bool ok = read_line(l) && kg_buf_ok(&l->line) &&
              kg_json_parse_line(l->line.data, l->line.len, l->name, &j, &err) == KG_OK;
    if (!ok || !json_is_object(j)) {
        json_decref(j);
        j = NULL;
    }
    return j;
}

void rl_lines_close(struct rl_lines *l)
{
    if (l->file == NULL) {
        return;
    }
    if (l->bad > 3) {
        rl_note(l->notes, "%s: %ld lines are left out in all", l->name, l->bad);
    }
    if (ferror(l->file)) {
        rl_note(l->notes, "%s: cannot be read to its end", l->name);
    }
    kg_buf_deinit(&l->line);
    fclose(l->file);
    l->file = NULL;
}

double rl_json_real(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    return json_is_number(v) ? json_number_value(v) : (double)NAN;
}

const char *rl_json_text(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s != NULL ? s : "";
}

long rl_json_int(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    return json_is_integer(v) ? (long)json_integer_value(v) : -1;
}
