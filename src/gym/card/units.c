/* Times, sizes and ratios as short text with a unit. */
#include "gym/card/units.h"

#include <math.h>
#include <stdio.h>

/* x with three significant digits and no exponent, for 0.001 <= x < 1000. */
static void three_digits(double x, const char *unit, char out[KG_UNITS_LEN])
{
    int places = x < 0.0995 ? 4 : x < 0.9995 ? 3 : x < 9.995 ? 2 : x < 99.95 ? 1 : 0;
    snprintf(out, KG_UNITS_LEN, "%.*f%s", places, x, unit);
}

const char *kg_units_time(int64_t ns, char out[KG_UNITS_LEN])
{
    if (ns < 0) {
        snprintf(out, KG_UNITS_LEN, "-");
    } else if (ns < 1000) {
        snprintf(out, KG_UNITS_LEN, "%d ns", (int)ns);
    } else if (ns < 999500) {
        three_digits((double)ns / 1e3, " us", out);
    } else if (ns < 999500000) {
        three_digits((double)ns / 1e6, " ms", out);
    } else if (ns < INT64_C(100000000000)) {
        three_digits((double)ns / 1e9, " s", out);
    } else {
        int64_t s = ns / 1000000000;
        snprintf(out, KG_UNITS_LEN, "%lld min %lld s", (long long)(s / 60), (long long)(s % 60));
    }
    return out;
}

const char *kg_units_time_real(double ns, char out[KG_UNITS_LEN])
{
    return kg_units_time(!(ns >= 0) ? -1 : ns < 9e18 ? (int64_t)ns : INT64_MAX, out);
}

const char *kg_units_bytes(int64_t bytes, char out[KG_UNITS_LEN])
{
    static const char *const units[] = {" KB", " MB", " GB", " TB", " PB", " EB"};
    if (bytes < 0) {
        snprintf(out, KG_UNITS_LEN, "-");
        return out;
    }
    if (bytes < 1000) {
        snprintf(out, KG_UNITS_LEN, "%d B", (int)bytes);
        return out;
    }
    double x = (double)bytes / 1024;
    int u = 0;
    while (x >= 999.5 && u < 5) {
        x /= 1024;
        u++;
    }
    three_digits(x, units[u], out);
    return out;
}

const char *kg_units_ratio(double ratio, char out[KG_UNITS_LEN])
{
    if (ratio >= 0.0995 && ratio < 1.9995) {
        snprintf(out, KG_UNITS_LEN, "%.3fx", ratio);
    } else if (ratio >= 0.001 && ratio < 999.5) {
        three_digits(ratio, "x", out);
    } else {
        snprintf(out, KG_UNITS_LEN, "%.2gx", ratio);
    }
    return out;
}
