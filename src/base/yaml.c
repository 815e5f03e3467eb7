/* Reads YAML through libyaml into a tree of scalars, lists and maps with line numbers. */
#include "base/yaml.h"

#include "base/utf8.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#define MAX_DEPTH 16
#define MAX_NODES 10000

struct reader {
    yaml_parser_t parser;
    yaml_event_t event; /* the one being looked at */
    bool has_event;
    const char *source, *text;
    size_t len;
    int first_line;
    int depth, nodes;
    struct kg_arena *arena;
    struct kg_err *err;
};

static int event_line(const struct reader *r)
{
    return r->first_line + (int)r->event.start_mark.line;
}

static enum kg_code refuse(struct reader *r, int line, const char *what)
{
    return kg_fail(r->err, KG_E_INPUT, "%s:%d: %s", r->source, line, what);
}

/* Bytes are judged before libyaml sees them: its own message for them has no line. */
static enum kg_code check_bytes(struct reader *r, const char *text, size_t len)
{
    int line = r->first_line;
    for (size_t at = 0; at < len;) {
        uint32_t cp;
        bool ok;
        at += kg_utf8_next(text + at, len - at, &cp, &ok);
        if (!ok) {
            return refuse(r, line, "not valid UTF-8");
        }
        if (cp == '\t') {
            return refuse(r, line, "a tab; use spaces");
        }
        if (cp != '\n' && cp != '\r' && !kg_utf8_in_line(cp)) {
            return kg_fail(r->err, KG_E_INPUT, "%s:%d: character U+%04X is not allowed", r->source,
                           line, (unsigned)cp);
        }
        line += cp == '\n';
    }
    return KG_OK;
}

/* Length of a word such as f32[rows,cols] that begins at s: a name, and brackets right after it. */
static size_t bracketed(const char *s, size_t n)
{
    size_t at = 0;
    while (at < n && (isalnum((unsigned char)s[at]) || s[at] == '_')) {
        at++;
    }
    if (at == 0 || at == n || s[at] != '[') {
        return 0;
    }
    while (at < n && s[at] != ']' && s[at] != '\n' && s[at] != '}') {
        at++;
    }
    return at < n && s[at] == ']' ? at + 1 : 0;
}

/* YAML reads brackets in an unquoted value as a list. Where the line of an error holds such a word,
 * the remedy is said. line counts from 0. */
static void quote_hint(const struct reader *r, size_t line, char *out, size_t cap)
{
    const char *s = r->text, *end = r->text + r->len;
    out[0] = '\0';
    for (; line > 0 && s != NULL && s < end; line--) {
        s = memchr(s, '\n', (size_t)(end - s));
        s = s == NULL ? NULL : s + 1;
    }
    char before = ' ', quote = '\0';
    for (; s != NULL && s < end && *s != '\n'; before = *s++) {
        size_t n = bracketed(s, (size_t)(end - s));
        quote = *s == quote ? '\0' : quote == '\0' && (*s == '"' || *s == '\'') ? *s : quote;
        if (quote == '\0' && (before == ' ' || before == ':') && n > 0 && n < 100) {
            snprintf(out, cap, "; quote a value that holds brackets: \"%.*s\"", (int)n, s);
            return;
        }
    }
}

static enum kg_code advance(struct reader *r)
{
    char hint[160];
    if (r->has_event) {
        yaml_event_delete(&r->event);
    }
    r->has_event = yaml_parser_parse(&r->parser, &r->event) == 1;
    if (r->has_event) {
        return KG_OK;
    }
    const yaml_parser_t *p = &r->parser;
    if (p->error == YAML_MEMORY_ERROR) {
        return kg_fail(r->err, KG_E_HOST, "%s: this machine is out of memory", r->source);
    }
    quote_hint(r, p->problem_mark.line, hint, sizeof hint);
    return kg_fail(r->err, KG_E_INPUT, "%s:%d: not valid YAML: %s%s%s%s", r->source,
                   r->first_line + (int)p->problem_mark.line,
                   p->problem ? p->problem : "unreadable", p->context ? " " : "",
                   p->context ? p->context : "", hint);
}

static enum kg_code check_plain(struct reader *r)
{
    const yaml_char_t *anchor = NULL, *tag = NULL;
    switch (r->event.type) {
    case YAML_ALIAS_EVENT:
        return refuse(r, event_line(r), "aliases (*name) are not supported");
    case YAML_SCALAR_EVENT:
        anchor = r->event.data.scalar.anchor;
        tag = r->event.data.scalar.tag;
        break;
    case YAML_SEQUENCE_START_EVENT:
        anchor = r->event.data.sequence_start.anchor;
        tag = r->event.data.sequence_start.tag;
        break;
    case YAML_MAPPING_START_EVENT:
        anchor = r->event.data.mapping_start.anchor;
        tag = r->event.data.mapping_start.tag;
        break;
    default:
        break;
    }
    if (anchor != NULL) {
        return refuse(r, event_line(r), "anchors (&name) are not supported");
    }
    if (tag != NULL) {
        return refuse(r, event_line(r), "tags (!name) are not supported");
    }
    return KG_OK;
}

/* The text of the scalar being looked at; NULL after an error. */
static const char *scalar_text(struct reader *r)
{
    const char *value = (const char *)r->event.data.scalar.value;
    size_t len = r->event.data.scalar.length;
    if (memchr(value, '\0', len) != NULL) {
        refuse(r, event_line(r), "a NUL character in text");
        return NULL;
    }
    return kg_arena_dup(r->arena, value, len, r->err);
}

static enum kg_code read_node(struct reader *r, struct kg_yaml **out);

/* A map's key, with the parser left at its value. */
static enum kg_code read_key(struct reader *r, const struct kg_yaml *map, const char **key)
{
    enum kg_code code = check_plain(r);
    if (code != KG_OK) {
        return code;
    }
    if (r->event.type != YAML_SCALAR_EVENT || r->event.data.scalar.length == 0) {
        return refuse(r, event_line(r), "a key must be plain text");
    }
    *key = scalar_text(r);
    if (*key == NULL) {
        return r->err->code;
    }
    const struct kg_yaml *same = kg_yaml_get(map, *key);
    if (same != NULL) {
        return kg_fail(r->err, KG_E_INPUT, "%s:%d: duplicate key `%.80s` (first on line %d)",
                       r->source, event_line(r), *key, same->line);
    }
    return advance(r);
}

static enum kg_code read_children(struct reader *r, struct kg_yaml *parent)
{
    yaml_event_type_t end =
        parent->kind == KG_YAML_MAP ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT;
    struct kg_yaml **tail = &parent->child;
    enum kg_code code = advance(r);
    while (code == KG_OK && r->event.type != end) {
        const char *key = NULL;
        int line = event_line(r);
        if (parent->kind == KG_YAML_MAP) {
            code = read_key(r, parent, &key);
        }
        if (code == KG_OK) {
            code = read_node(r, tail);
        }
        if (code == KG_OK) {
            (*tail)->key = key;
            (*tail)->line = line;
            tail = &(*tail)->next;
            code = advance(r);
        }
    }
    return code;
}

/* The value being looked at. Recursion is bounded by MAX_DEPTH. */
static enum kg_code read_node(struct reader *r, struct kg_yaml **out)
{
    enum kg_code code = check_plain(r);
    if (code != KG_OK) {
        return code;
    }
    if (++r->nodes > MAX_NODES) {
        return kg_fail(r->err, KG_E_LIMIT, "%s:%d: more than %d values", r->source, event_line(r),
                       MAX_NODES);
    }
    struct kg_yaml *node = kg_arena_alloc(r->arena, sizeof *node, r->err);
    if (node == NULL) {
        return r->err->code;
    }
    node->line = event_line(r);
    if (r->event.type == YAML_SCALAR_EVENT) {
        node->kind = KG_YAML_SCALAR;
        node->text = scalar_text(r);
        code = node->text == NULL ? r->err->code : KG_OK;
    } else {
        node->kind = r->event.type == YAML_MAPPING_START_EVENT ? KG_YAML_MAP : KG_YAML_LIST;
        if (++r->depth > MAX_DEPTH) {
            return kg_fail(r->err, KG_E_LIMIT, "%s:%d: more than %d levels of nesting", r->source,
                           node->line, MAX_DEPTH);
        }
        code = read_children(r, node);
        r->depth--;
    }
    /* Linked only when complete: a map's entry without its key must not be found by kg_yaml_get. */
    *out = code == KG_OK ? node : NULL;
    return code;
}

static enum kg_code read_document(struct reader *r, struct kg_yaml **out)
{
    enum kg_code code = advance(r); /* stream start */
    if (code == KG_OK) {
        code = advance(r);
    }
    if (code == KG_OK && r->event.type == YAML_STREAM_END_EVENT) {
        *out = kg_arena_alloc(r->arena, sizeof **out, r->err);
        if (*out == NULL) {
            return r->err->code;
        }
        (*out)->kind = KG_YAML_MAP;
        (*out)->line = r->first_line;
        return KG_OK;
    }
    if (code == KG_OK && (r->event.data.document_start.version_directive != NULL ||
                          r->event.data.document_start.tag_directives.start !=
                              r->event.data.document_start.tag_directives.end)) {
        return refuse(r, event_line(r), "directives (%NAME) are not supported");
    }
    if (code == KG_OK) {
        code = advance(r);
    }
    if (code == KG_OK) {
        code = read_node(r, out);
    }
    if (code == KG_OK) {
        code = advance(r); /* document end */
    }
    if (code == KG_OK) {
        code = advance(r);
    }
    if (code == KG_OK && r->event.type != YAML_STREAM_END_EVENT) {
        return refuse(r, event_line(r), "a second document (---) is not supported");
    }
    return code;
}

enum kg_code kg_yaml_parse(const char *text, size_t len, const char *source, int first_line,
                           struct kg_arena *arena, struct kg_yaml **out, struct kg_err *err)
{
    struct reader r = {.source = source, .first_line = first_line, .arena = arena, .err = err};
    *out = NULL;
    if (len >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
        text += 3; /* byte order mark of some editors */
        len -= 3;
    }
    r.text = text;
    r.len = len;
    enum kg_code code = check_bytes(&r, text, len);
    if (code != KG_OK) {
        return code;
    }
    if (yaml_parser_initialize(&r.parser) != 1) {
        return kg_fail(err, KG_E_HOST, "%s: this machine is out of memory", source);
    }
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, len);
    code = read_document(&r, out);
    if (code != KG_OK) {
        *out = NULL;
    }
    if (r.has_event) {
        yaml_event_delete(&r.event);
    }
    yaml_parser_delete(&r.parser);
    return code;
}

const struct kg_yaml *kg_yaml_get(const struct kg_yaml *map, const char *key)
{
    for (const struct kg_yaml *e = map->child; e != NULL; e = e->next) {
        if (e->key != NULL && strcmp(e->key, key) == 0) {
            return e;
        }
    }
    return NULL;
}
