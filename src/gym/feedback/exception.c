/* What an exception may say: its type from a list, and its words without numbers. The candidate
 * wrote both after it had seen inputs, so both are channels; these filters bound them. */
#include <ctype.h>
#include <string.h>

#include "gym/build/diag.h"
#include "gym/feedback/feedback_parts.h"

#define HEAD 200 /* bytes of a message that are kept */
#define TAIL 95
#define READ 4096 /* bytes that are looked at, at each end */

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

/* Words with digits that say no number. */
static const char *const plain_words[] = {
    "float16", "float32",   "float64",    "bfloat16", "float8_e4m3fn", "float8_e5m2", "int1",
    "int8",    "int16",     "int32",      "int64",    "uint8",         "uint16",      "uint32",
    "uint64",  "complex64", "complex128", "fp8",      "fp16",          "fp32",        "fp64",
    "bf16",    "tf32",      "f16",        "f32",      "f64",           "i1",          "i8",
    "i16",     "i32",       "i64",        "u8",       "mat1",          "mat2",        "conv1d",
    "conv2d",  "conv3d",    "log2",       "exp2",     "log10",         "log1p",       "expm1",
    "atan2",
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

/* Does a word (it begins with a letter or _) pass as it is? */
static bool passes(const char *word, size_t len, const char *code)
{
    bool digits = false, hex = true;
    const char *found;
    for (size_t i = 0; i < len; i++) {
        digits |= isdigit((unsigned char)word[i]) != 0;
        hex &= isxdigit((unsigned char)word[i]) != 0;
    }
    if (len > 40 || (hex && len >= 8)) {
        return false;
    }
    return !digits ||
           listed(plain_words, sizeof plain_words / sizeof plain_words[0], word, len, &found) ||
           kg_fb_stands_in(code, word, len);
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

static void filter(const char *s, size_t n, const char *code, struct kg_buf *out)
{
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
            if (passes(s + i, len, code)) {
                kg_buf_add(out, s + i, len);
            } else {
                add_number(out);
            }
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
