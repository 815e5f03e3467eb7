/* Internals of the extractor: normalised text, the blocks in it, candidates and how they rank.
 * One reply is one struct kg_reply on the caller's stack; texts are slices of buffers it owns. */
#ifndef KG_GYM_REPLY_EXTRACT_PRIVATE_H
#define KG_GYM_REPLY_EXTRACT_PRIVATE_H

#include "base/buf.h"
#include "gym/reply/extract.h"

struct kg_slice {
    const char *at;
    size_t len;
};

/* normalise.c: valid UTF-8, LF, no NUL, no zero-width characters. Sets flags. */
void kg_reply_normalise(const char *text, size_t len, struct kg_buf *out, uint32_t *flags);

/* tags.c: what the info string of a fence says. */
enum kg_tag {
    KG_TAG_NEUTRAL, /* none, "answer", or a word that names no language */
    KG_TAG_C,
    KG_TAG_PYTHON,
    KG_TAG_CUDA,
    KG_TAG_JSON,
    KG_TAG_MARKDOWN,
    KG_TAG_DIFF,
    KG_TAG_OTHER, /* another language, or output */
};
/* The tag and whether its word is known; *rest: what follows the word on the line. */
enum kg_tag kg_tag_read(struct kg_slice info, bool *known, struct kg_slice *rest);
bool kg_tag_accepts(enum kg_lang lang, enum kg_tag tag);

/* fences.c */
#define KG_BLOCKS_MAX 1024 /* the last ones; earlier ones are forgotten */

struct kg_block {
    struct kg_slice code; /* raw lines between the fences */
    enum kg_tag tag;
    bool closed;
    bool to_end;   /* unclosed, up to the end of the reply */
    bool opened;   /* the prompt opened it: it begins with the reply */
    int quotes;    /* leading `>` to take off each line */
    bool escaped;  /* as HTML: to be decoded */
    bool magics;   /* lines of a notebook before the code are left out */
    size_t indent; /* blanks to take off each line, as many as stand before the fence */
};

struct kg_blocks {
    int n;
    bool dropped;         /* there were more than KG_BLOCKS_MAX */
    bool thinking;        /* reasoning was opened and never closed */
    struct kg_slice seen; /* the text that was read: up to there */
    struct kg_block list[KG_BLOCKS_MAX];
};

/* What follows the last closing tag of reasoning that stands alone on its line; *closed: one does.
 */
struct kg_slice kg_reply_after_thinking(struct kg_slice text, bool *closed);
/* Writes the text without its parts of reasoning. False: no closing tag stands alone on its line.
 */
bool kg_reply_without_thinking(struct kg_slice text, struct kg_buf *out);
bool kg_reply_opens_thinking(struct kg_slice line, bool first);
void kg_blocks_parse(struct kg_slice text, enum kg_lang lang, struct kg_blocks *out);
/* Puts a block before all others where the reply begins inside one: its text up to the first fence
 * reads as a file of the language. */
void kg_blocks_opened(struct kg_slice text, enum kg_lang lang, struct kg_blocks *out);

/* excerpt.c: a comment or an empty body stands for code that is not there. */
bool kg_reply_is_excerpt(enum kg_lang lang, struct kg_slice code, const char *entry);

/* names.c: what a block uses and makes. */
#define KG_NAMES_SLOTS 1024
enum {
    KG_NAME_USED = 1,
    KG_NAME_MADE = 2, /* somewhere in the block */
    KG_NAME_TOP = 4,  /* for all of the file */
    KG_NAME_TYPE = 8  /* C: like int64_t, which headers make */
};
struct kg_names {
    uint32_t hash[KG_NAMES_SLOTS]; /* 0: free */
    uint8_t how[KG_NAMES_SLOTS];
    int n;
    bool many;     /* more than are kept: nothing is known */
    bool includes; /* C: it has an #include */
    bool lacks;    /* C: it has none, and uses a type that only headers make */
    bool headers;  /* C: it is made of directives, with an #include <> among them */
};
void kg_names_read(enum kg_lang lang, struct kg_slice code, struct kg_names *out);
/* Does a use what it does not make, and b does? Code that includes nothing needs headers. */
bool kg_names_need(const struct kg_names *a, const struct kg_names *b);

/* candidates.c: which texts define the entry, and how well. */
enum kg_rank { KG_RANK_NONE, KG_RANK_STATIC, KG_RANK_WEAK, KG_RANK_FULL };

#define KG_COMPARED 32 /* of more blocks it is not asked which stands alone */

struct kg_reply {
    enum kg_lang lang;
    const char *entry, *finish;
    bool lenient;     /* accept characters that no compiler takes: its message helps more */
    bool diff, cut;   /* seen on the way: a patch; a definition whose end is missing */
    bool dirty;       /* seen on the way: code that only the lenient pass takes */
    const char *rule; /* set by whoever finds the code */
    uint32_t flags;
    struct kg_buf code;     /* the result */
    struct kg_buf unquoted; /* of kg_reply_block_code */
    struct kg_buf decoded;  /* of it too */
    struct kg_buf inner;    /* text that came out of JSON or of escapes */
    struct kg_buf work[2];  /* of repairs and joining */
    struct kg_names names[KG_COMPARED];
    struct kg_names joined;    /* of several blocks together */
    bool excerpt[KG_COMPARED]; /* it leaves code out */
};

enum kg_rank kg_reply_rank(struct kg_reply *r, struct kg_slice code);
bool kg_reply_is_diff(struct kg_slice code);
/* The block's code; in a buffer of r where marks or blanks are taken off its lines or
 * entities are decoded. */
struct kg_slice kg_reply_block_code(struct kg_reply *r, const struct kg_block *b);
bool kg_reply_take(struct kg_reply *r, struct kg_slice code, const char *rule, uint32_t flags);
bool kg_reply_take_block(struct kg_reply *r, const struct kg_block *b, struct kg_slice code,
                         uint32_t flags);
/* The steps that look at blocks as they are: closed, unclosed, joined. */
bool kg_reply_choose(struct kg_reply *r, const struct kg_blocks *blocks);
bool kg_reply_join(struct kg_reply *r, const struct kg_blocks *blocks);

/* repairs.c: each writes the repaired text to out and returns false when it has nothing to do. */
struct kg_repair {
    uint32_t flag;
    bool (*apply)(struct kg_slice in, struct kg_buf *out);
};
#define KG_REPAIRS 5
extern const struct kg_repair kg_reply_repairs[KG_REPAIRS];
bool kg_repair_entities(struct kg_slice in, struct kg_buf *out);
/* Is all of the code escaped as HTML? */
bool kg_repair_is_escaped(enum kg_lang lang, struct kg_slice code);
bool kg_repair_gutter(struct kg_slice in, struct kg_buf *out);
bool kg_repair_escaped(struct kg_slice in, struct kg_buf *out);

/* regions.c: text between HTML-like tags (<answer>, <file>, <pre>, <code>), inner and later ones
 * first. */
#define KG_REGIONS_MAX 64
struct kg_region {
    struct kg_slice code;
    const char *rule;
    bool closed;
};
int kg_regions_find(struct kg_slice text, struct kg_region out[KG_REGIONS_MAX]);

/* ladder.c: all steps on a text. level 1 is text that came out of JSON or of escapes; it is not
 * unwrapped again. blocks[level] is this level's own. */
bool kg_reply_ladder(struct kg_reply *r, struct kg_slice text, int level,
                     struct kg_blocks blocks[2]);

static inline struct kg_slice kg_slice_buf(const struct kg_buf *b)
{
    return (struct kg_slice){b->data, b->len};
}

/* Without blanks and newlines at either end. */
struct kg_slice kg_slice_trim(struct kg_slice s);
/* The line that begins at *at, without its newline; *at moves behind it. False at the end. */
bool kg_slice_line(struct kg_slice s, size_t *at, struct kg_slice *line);
bool kg_slice_starts(struct kg_slice s, const char *prefix);

#endif
