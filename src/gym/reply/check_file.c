/* Static rules that look at a whole file instead of single tokens. */
#include <string.h>

#include "gym/reply/check_private.h"

/* Points the finding at a line; 0 means that there is nothing to find. */
static bool at_line(struct kg_check *c, int line)
{
    c->line = line;
    return line != 0;
}

bool kg_when_entry_missing(struct kg_check *c)
{
    return c->survey.kind == KG_DEF_NONE && !c->survey.object;
}

bool kg_when_entry_static(struct kg_check *c)
{
    return c->survey.kind == KG_DEF_STATIC && at_line(c, c->survey.static_line);
}

bool kg_when_entry_unclosed(struct kg_check *c)
{
    return c->survey.kind == KG_DEF_PARTIAL && c->survey.certain && at_line(c, c->survey.line);
}

bool kg_when_entry_twice(struct kg_check *c)
{
    return at_line(c, c->survey.again_line);
}

/* The compiler refuses these for certain only where no macro or conditional hides a brace. */
bool kg_when_brace_unclosed(struct kg_check *c)
{
    return c->survey.certain && c->survey.kind != KG_DEF_PARTIAL && c->survey.comment_line == 0 &&
           at_line(c, c->survey.open_line);
}

bool kg_when_brace_stray(struct kg_check *c)
{
    return c->survey.certain && at_line(c, c->survey.stray_line);
}

bool kg_when_comment_unterminated(struct kg_check *c)
{
    return at_line(c, c->survey.comment_line);
}

bool kg_when_string_unterminated(struct kg_check *c)
{
    return at_line(c, c->survey.string_line);
}

/* Nothing but semicolons, `return`, `...`, and parameters that are cast to void. */
bool kg_when_empty_body(struct kg_check *c)
{
    const struct kg_survey *s = &c->survey;
    if (s->body_end == 0 || s->body_end < s->body_at + 2) {
        return false;
    }
    struct kg_lexer lx;
    kg_lex_init(&lx, KG_LANG_C, c->text + s->body_at + 1, s->body_end - s->body_at - 2);
    bool is_void = false;
    for (struct kg_tok t = kg_lex_next(&lx); t.kind != KG_TOK_END; t = kg_lex_next(&lx)) {
        static const char *const idle[] = {";", "(", ")", "return", "void", "...", NULL};
        bool passes = t.kind == KG_TOK_COMMENT || kg_tok_in(&lx, t, idle) ||
                      (is_void && t.kind == KG_TOK_NAME);
        if (!passes) {
            return false;
        }
        is_void = kg_tok_is(&lx, t, "void") || (is_void && !kg_tok_is(&lx, t, ";"));
    }
    return at_line(c, s->line);
}

bool kg_when_opaque_data(struct kg_check *c)
{
    return c->most_numbers >= 512 && at_line(c, c->most_numbers_line);
}
