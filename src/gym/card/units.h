/* Numbers as a person reads them: three significant digits and a unit. Thread safe. */
#ifndef KG_GYM_CARD_UNITS_H
#define KG_GYM_CARD_UNITS_H

#include <stdint.h>

#define KG_UNITS_LEN 24

/* "812 ns", "12.3 us", "1.04 ms", "2.10 s", "3 min 20 s"; "-" when negative. */
const char *kg_units_time(int64_t ns, char out[KG_UNITS_LEN]);
/* The same for sums and medians; "-" for NaN too. */
const char *kg_units_time_real(double ns, char out[KG_UNITS_LEN]);
/* "412 B", "1.2 KB", "32 MB"; "-" when negative. */
const char *kg_units_bytes(int64_t bytes, char out[KG_UNITS_LEN]);
/* "1.004x", "3.35x", "0.0134x", "12.0x", "1.2e+12x": a digit more round 1 */
const char *kg_units_ratio(double ratio, char out[KG_UNITS_LEN]);

#endif
