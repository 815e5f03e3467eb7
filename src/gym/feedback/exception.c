/* What an exception may say: its type from a list, and its words without numbers: those of the
 * vocabulary, and few of the candidate's source. The candidate wrote both after it had seen inputs,
 * so both are channels; these filters bound them. */
#include <ctype.h>
#include <string.h>

#include "gym/build/diag.h"
#include "gym/feedback/feedback_parts.h"

#define HEAD 200 /* bytes of a message that are kept */
#define TAIL 95
#define READ 4096 /* bytes that are looked at, at each end */
/* Names of the source that no vocabulary has, at most: a choice among them can say something. Words
 * that stand side by side in the source don't count. */
#define NAMES   8
#define MANGLED 24 /* letters of types in a mangled name */

static const char *const types[] = {
    /* Python */
    "ArithmeticError",
    "AssertionError",
    "AttributeError",
    "BufferError",
    "EOFError",
    "FileNotFoundError",
    "FloatingPointError",
    "ImportError",
    "IndentationError",
    "IndexError",
    "KeyError",
    "LookupError",
    "MemoryError",
    "ModuleNotFoundError",
    "NameError",
    "NotImplementedError",
    "OSError",
    "OverflowError",
    "PermissionError",
    "RecursionError",
    "RuntimeError",
    "StopIteration",
    "SyntaxError",
    "SystemError",
    "TabError",
    "TimeoutError",
    "TypeError",
    "UnboundLocalError",
    "UnicodeDecodeError",
    "ValueError",
    "ZeroDivisionError",
    /* torch */
    "AcceleratorError",
    "OutOfMemoryError",
    "Unsupported",
    "BackendCompilerFailed",
    "InternalTorchDynamoError",
    "CalledProcessError",
    "NinjaError",
    /* triton */
    "CompilationError",
    "CompileTimeAssertionFailure",
    "UnsupportedLanguageConstruct",
    "OutOfResources",
    "InterpreterError",
    "AutotunerError",
    "PTXASError",
    "MLIRCompilationError",
};

/* Words with digits that say no number, and units. */
static const char *const plain_words[] = {
    "float16", "float32",   "float64",    "bfloat16", "float8_e4m3fn", "float8_e5m2", "int1",
    "int8",    "int16",     "int32",      "int64",    "uint8",         "uint16",      "uint32",
    "uint64",  "complex64", "complex128", "fp8",      "fp16",          "fp32",        "fp64",
    "bf16",    "tf32",      "f16",        "f32",      "f64",           "i1",          "i8",
    "i16",     "i32",       "i64",        "u8",       "mat1",          "mat2",        "conv1d",
    "conv2d",  "conv3d",    "log2",       "exp2",     "log10",         "log1p",       "expm1",
    "atan2",   "GiB",       "MiB",        "KiB",
};

static bool listed(const char *const *list, size_t n, const char *s, size_t len, const char **out)
{
    for (size_t i = 0; i < n; i++) {
        if (strlen(list[i]) == len && memcmp(list[i], s, len) == 0) {
            *out = list[i];
            return true;
        }
    }
    return false;
}

const char *kg_fb_exception_type(const char *name)
{
    const char *found, *dot = name != NULL ? strrchr(name, '.') : NULL;
    const char *last = dot != NULL ? dot + 1 : name;
    bool known =
        last != NULL && listed(types, sizeof types / sizeof types[0], last, strlen(last), &found);
    return known ? found : "Error";
}

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

bool kg_fb_stands_in(const char *code, const char *word, size_t len)
{
    for (const char *p = code; p != NULL && (p = memmem(p, strlen(p), word, len)) != NULL; p++) {
        if ((p == code || !in_word(p[-1])) && !in_word(p[len])) {
            return true;
        }
    }
    return false;
}

static bool has_digit(const char *word, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (isdigit((unsigned char)word[i])) {
            return true;
        }
    }
    return false;
}

static bool is_plain(const char *word, size_t len)
{
    const char *found;
    return listed(plain_words, sizeof plain_words / sizeof plain_words[0], word, len, &found) ||
           (!has_digit(word, len) && kg_fb_in_vocabulary(word, len));
}

/* A long word that may be a number in disguise. */
static bool is_hex(const char *word, size_t len)
{
    size_t i = 0;
    while (i < len && isxdigit((unsigned char)word[i])) {
        i++;
    }
    return i == len && len >= 8;
}

/* What is being filtered. */
struct text {
    const char *s, *code;
    size_t last; /* where the word before begins, if it passed; else NONE */
    int names;   /* that may still pass */
};
#define NONE SIZE_MAX

/* Does the word at `at` (it begins with a letter or _) pass as it is? */
static bool passes(struct text *t, size_t at, size_t len)
{
    const char *word = t->s + at;
    if (len > 40 || is_hex(word, len)) {
        return false;
    }
    if (is_plain(word, len)) {
        return true;
    }
    if (!kg_fb_stands_in(t->code, word, len)) {
        return false;
    }
    bool phrase = t->last != NONE && t->code != NULL &&
                  memmem(t->code, strlen(t->code), t->s + t->last, at + len - t->last) != NULL;
    return phrase || t->names-- > 0;
}

/* Bytes of the number at s: digits, exponent, suffix, hexadecimal, but not a sentence's stop. */
static size_t number(const char *s, size_t n)
{
    size_t i = 1;
    while (i < n && (in_word(s[i]) || s[i] == '.' ||
                     ((s[i] == '-' || s[i] == '+') && strchr("eEpP", s[i - 1]) != NULL))) {
        i++;
    }
    while (i > 1 && s[i - 1] == '.') {
        i--;
    }
    return i;
}

static void add_number(struct kg_buf *out)
{
    size_t n = out->len;
    bool sign = n > 0 && (out->data[n - 1] == '-' || out->data[n - 1] == '+') &&
                (n == 1 || !in_word(out->data[n - 2]));
    if (sign) {
        out->data[--out->len] = '\0';
    }
    kg_buf_adds(out, out->len > 0 && out->data[out->len - 1] == 'N' ? "" : "N");
}

static void add_gap(struct kg_buf *out)
{
    bool there = out->len >= 3 && memcmp(out->data + out->len - 3, "...", 3) == 0;
    bool apart = out->len >= 4 && memcmp(out->data + out->len - 4, "... ", 4) == 0;
    kg_buf_adds(out, there || apart ? "" : "...");
}

static void add_word(struct text *t, size_t at, size_t len, struct kg_buf *out)
{
    bool passed = passes(t, at, len);
    if (passed) {
        kg_buf_add(out, t->s + at, len);
    } else if (has_digit(t->s + at, len) || is_hex(t->s + at, len)) {
        add_number(out);
    } else {
        add_gap(out);
    }
    t->last = passed ? at : NONE;
}

static void filter(const char *s, size_t n, const char *code, struct kg_buf *out)
{
    struct text t = {s, code, NONE, NAMES};
    for (size_t i = 0; i < n;) {
        size_t len = 1;
        unsigned char c = (unsigned char)s[i];
        bool point = c == '.' && i + 1 < n && isdigit((unsigned char)s[i + 1]);
        if (isdigit(c) || point) {
            len = number(s + i, n - i);
            add_number(out);
        } else if (in_word((char)c)) {
            while (i + len < n && in_word(s[i + len])) {
                len++;
            }
            add_word(&t, i, len, out);
        } else if (c == '\n' || c == ' ') {
            bool blank = out->len == 0 || out->data[out->len - 1] == ' ';
            kg_buf_adds(out, blank ? "" : " ");
        } else if (c < 0x80) {
            kg_buf_addc(out, c == '`' ? '\'' : (char)c);
        }
        i += len;
    }
}

/* The message's two ends where it is long; a word that is cut there is dropped with the middle. */
static void ends(const char *message, const char *code, struct kg_buf *out)
{
    struct kg_buf clean, base, whole;
    size_t n = strlen(message);
    kg_buf_init(&whole, 4 * READ);
    kg_buf_init(&base, 4 * READ);
    kg_buf_init(&clean, 64 * READ);
    if (n <= 2 * READ) {
        kg_buf_add(&whole, message, n);
    } else {
        kg_buf_add(&whole, message, READ);
        kg_buf_adds(&whole, " ... ");
        kg_buf_add(&whole, message + n - READ, READ);
    }
    kg_diag_clean(whole.data, whole.len, &base);
    kg_fb_clean(base.data, base.len, &clean);
    filter(clean.data, clean.len, code, out);
    while (out->len > 0 && out->data[out->len - 1] == ' ') {
        out->data[--out->len] = '\0';
    }
    kg_buf_deinit(&clean);
    kg_buf_deinit(&base);
    kg_buf_deinit(&whole);
}

void kg_fb_exception_text(const char *message, const char *code, struct kg_buf *out)
{
    struct kg_buf all, cut;
    kg_buf_init(&all, 64 * READ);
    kg_buf_init(&cut, 4096);
    ends(message, code, &all);
    if (all.len <= HEAD + TAIL) {
        kg_buf_add(&cut, all.data, all.len);
    } else {
        kg_buf_add(&cut, all.data, HEAD);
        kg_buf_adds(&cut, " ... ");
        kg_buf_add(&cut, all.data + all.len - TAIL, TAIL);
    }
    kg_fb_defuse(cut.data, cut.len, out);
    kg_buf_deinit(&cut);
    kg_buf_deinit(&all);
}

/* A mangled name of C++ whose identifiers are known: `_Z5scalePf` of scale(float *). */
static bool is_mangled(const char *s, size_t len, const char *code)
{
    size_t others = 0, names = 0;
    if (len < 4 || s[0] != '_' || s[1] != 'Z') {
        return false;
    }
    for (size_t i = 2; i < len;) {
        size_t n = 0;
        for (; i < len && isdigit((unsigned char)s[i]) && n < 1000; i++) {
            n = 10 * n + (size_t)(s[i] - '0');
        }
        if (n > len - i || (n > 0 && !is_plain(s + i, n) && !kg_fb_stands_in(code, s + i, n))) {
            return false;
        }
        others += n == 0;
        names += n > 0;
        i += n > 0 ? n : 1;
    }
    return names > 0 && others <= MANGLED;
}

void kg_fb_known_words(const char *s, size_t n, const char *code, struct kg_buf *out)
{
    for (size_t i = 0; i < n;) {
        size_t len = 1;
        while (in_word(s[i]) && i + len < n && in_word(s[i + len])) {
            len++;
        }
        bool number = isdigit((unsigned char)s[i]) != 0;
        bool passes = !in_word(s[i]) || number || is_plain(s + i, len) ||
                      kg_fb_stands_in(code, s + i, len) || is_mangled(s + i, len, code);
        bool quote = i + 3 <= n && (memcmp(s + i, "\xE2\x80\x98", 3) == 0 ||
                                    memcmp(s + i, "\xE2\x80\x99", 3) == 0);
        if (quote) { /* a compiler's */
            kg_buf_add(out, s + i, 3);
            len = 3;
        } else if (passes && (unsigned char)s[i] < 0x80) {
            kg_buf_add(out, s + i, len);
        } else if (!passes) {
            add_gap(out);
        }
        i += len;
    }
}
