/* The number of columns that UTF-8 text takes on a terminal. */
#include "base/term.h"
#include "base/utf8.h"

#include <string.h>

struct range {
    uint32_t first, last;
};

/* Source: Unicode 15, general categories Mn, Me, Cf (the blocks that text on a terminal meets). */
static const struct range zero_width[] = {
    {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD},   {0x0610, 0x061A}, {0x064B, 0x065F},
    {0x0E31, 0x0E31}, {0x0E34, 0x0E3A}, {0x0E47, 0x0E4E},   {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF},
    {0x200B, 0x200F}, {0x202A, 0x202E}, {0x2060, 0x2069},   {0x20D0, 0x20FF}, {0xFE00, 0xFE0F},
    {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF}, {0xE0100, 0xE01EF},
};

/* Source: Unicode 15, EastAsianWidth W and F. */
static const struct range double_width[] = {
    {0x1100, 0x115F},   {0x231A, 0x231B},   {0x23E9, 0x23EC},   {0x2705, 0x2705},
    {0x274C, 0x274C},   {0x2E80, 0x303E},   {0x3041, 0x33FF},   {0x3400, 0x4DBF},
    {0x4E00, 0xA4CF},   {0xA960, 0xA97C},   {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},
    {0xFE30, 0xFE6B},   {0xFF01, 0xFF60},   {0xFFE0, 0xFFE6},   {0x1F300, 0x1F64F},
    {0x1F680, 0x1F6FF}, {0x1F7E0, 0x1F7EB}, {0x1F900, 0x1F9FF}, {0x1FA70, 0x1FAFF},
    {0x20000, 0x3FFFD},
};

static bool in_ranges(uint32_t cp, const struct range *r, size_t n)
{
    for (size_t i = 0; i < n && r[i].first <= cp; i++) {
        if (cp <= r[i].last) {
            return true;
        }
    }
    return false;
}

/* Bytes of the escape sequence at s (s[0] is ESC). Source: ECMA-48, 5.4 (CSI): parameters and
 * intermediates 0x20-0x3F, then one final byte. */
static size_t escape_length(const char *s)
{
    if (s[1] != '[') {
        return s[1] == '\0' ? 1 : 2;
    }
    size_t n = 2;
    while (s[n] >= 0x20 && s[n] <= 0x3F) {
        n++;
    }
    return s[n] == '\0' ? n : n + 1;
}

size_t kg_term_columns(const char *s)
{
    size_t columns = 0, len = strlen(s);
    for (size_t at = 0; at < len;) {
        if (s[at] == '\033') {
            at += escape_length(s + at);
            continue;
        }
        uint32_t cp;
        bool ok;
        at += kg_utf8_next(s + at, len - at, &cp, &ok);
        if (cp < 0x20 || (cp >= 0x7F && cp < 0xA0) ||
            in_ranges(cp, zero_width, sizeof zero_width / sizeof *zero_width)) {
            continue;
        }
        columns += in_ranges(cp, double_width, sizeof double_width / sizeof *double_width) ? 2 : 1;
    }
    return columns;
}
