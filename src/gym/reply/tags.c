/* Info strings: the first word decides, written in any of the ways models write it: `c`, `C++`,
 * `{.python}`, `language-c`, `c:relu.c`, `c title="x"`. */
#include <string.h>
#include <strings.h>

#include "gym/reply/extract_private.h"

struct tag_word {
    const char *word;
    enum kg_tag tag;
};

static const struct tag_word words[] = {
    {"c", KG_TAG_C},
    {"cpp", KG_TAG_C},
    {"c++", KG_TAG_C},
    {"cc", KG_TAG_C},
    {"cxx", KG_TAG_C},
    {"h", KG_TAG_C},
    {"hpp", KG_TAG_C},
    {"c99", KG_TAG_C},
    {"c11", KG_TAG_C},
    {"c17", KG_TAG_C},
    {"c23", KG_TAG_C},
    {"gnu17", KG_TAG_C},
    {"python", KG_TAG_PYTHON},
    {"py", KG_TAG_PYTHON},
    {"python3", KG_TAG_PYTHON},
    {"py3", KG_TAG_PYTHON},
    {"pycon", KG_TAG_PYTHON},
    {"triton", KG_TAG_PYTHON},
    {"cuda", KG_TAG_CUDA},
    {"cu", KG_TAG_CUDA},
    {"answer", KG_TAG_NEUTRAL},
    {"code", KG_TAG_NEUTRAL},
    {"json", KG_TAG_JSON},
    {"markdown", KG_TAG_MARKDOWN},
    {"md", KG_TAG_MARKDOWN},
    {"diff", KG_TAG_DIFF},
    {"patch", KG_TAG_DIFF},
    {"asm", KG_TAG_OTHER},
    {"awk", KG_TAG_OTHER},
    {"bash", KG_TAG_OTHER},
    {"batch", KG_TAG_OTHER},
    {"cmake", KG_TAG_OTHER},
    {"console", KG_TAG_OTHER},
    {"cs", KG_TAG_OTHER},
    {"csharp", KG_TAG_OTHER},
    {"css", KG_TAG_OTHER},
    {"csv", KG_TAG_OTHER},
    {"fortran", KG_TAG_OTHER},
    {"go", KG_TAG_OTHER},
    {"html", KG_TAG_OTHER},
    {"ini", KG_TAG_OTHER},
    {"java", KG_TAG_OTHER},
    {"javascript", KG_TAG_OTHER},
    {"js", KG_TAG_OTHER},
    {"julia", KG_TAG_OTHER},
    {"kotlin", KG_TAG_OTHER},
    {"latex", KG_TAG_OTHER},
    {"llvm", KG_TAG_OTHER},
    {"lua", KG_TAG_OTHER},
    {"make", KG_TAG_OTHER},
    {"makefile", KG_TAG_OTHER},
    {"math", KG_TAG_OTHER},
    {"matlab", KG_TAG_OTHER},
    {"mermaid", KG_TAG_OTHER},
    {"mlir", KG_TAG_OTHER},
    {"nasm", KG_TAG_OTHER},
    {"objc", KG_TAG_OTHER},
    {"opencl", KG_TAG_OTHER},
    {"output", KG_TAG_OTHER},
    {"perl", KG_TAG_OTHER},
    {"php", KG_TAG_OTHER},
    {"powershell", KG_TAG_OTHER},
    {"ptx", KG_TAG_OTHER},
    {"r", KG_TAG_OTHER},
    {"ruby", KG_TAG_OTHER},
    {"rust", KG_TAG_OTHER},
    {"scala", KG_TAG_OTHER},
    {"sh", KG_TAG_OTHER},
    {"shell", KG_TAG_OTHER},
    {"sql", KG_TAG_OTHER},
    {"swift", KG_TAG_OTHER},
    {"tex", KG_TAG_OTHER},
    {"toml", KG_TAG_OTHER},
    {"ts", KG_TAG_OTHER},
    {"typescript", KG_TAG_OTHER},
    {"xml", KG_TAG_OTHER},
    {"yaml", KG_TAG_OTHER},
    {"yml", KG_TAG_OTHER},
    {"zig", KG_TAG_OTHER},
    {"zsh", KG_TAG_OTHER},
};

enum kg_tag kg_tag_read(struct kg_slice info, bool *known, struct kg_slice *rest)
{
    struct kg_slice s = kg_slice_trim(info);
    while (s.len > 0 && (*s.at == '{' || *s.at == '.' || *s.at == '[' || *s.at == ' ')) {
        s.at++;
        s.len--;
    }
    size_t n = 0;
    while (n < s.len && strchr(" \t,:;{}()[]\"'\\=#<>|", s.at[n]) == NULL) {
        n++;
    }
    *rest = kg_slice_trim((struct kg_slice){s.at + n, s.len - n});
    struct kg_slice w = {s.at, n};
    static const char *const prefixes[] = {"language-", "lang-"};
    for (size_t i = 0; i < 2; i++) {
        size_t p = strlen(prefixes[i]);
        if (w.len > p && strncasecmp(w.at, prefixes[i], p) == 0) {
            w = (struct kg_slice){w.at + p, w.len - p};
        }
    }
    *known = false;
    if (w.len == 0) {
        return KG_TAG_NEUTRAL;
    }
    char first = (char)(*w.at | 0x20);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (words[i].word[0] != first) {
            continue;
        }
        if (strlen(words[i].word) == w.len && strncasecmp(words[i].word, w.at, w.len) == 0) {
            *known = true;
            return words[i].tag;
        }
    }
    return KG_TAG_NEUTRAL;
}

bool kg_tag_accepts(enum kg_lang lang, enum kg_tag tag)
{
    if (tag == KG_TAG_NEUTRAL) {
        return true;
    }
    return lang == KG_LANG_C ? tag == KG_TAG_C : tag == KG_TAG_PYTHON || tag == KG_TAG_CUDA;
}
