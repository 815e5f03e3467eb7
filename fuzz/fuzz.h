/* What every fuzz target defines: libFuzzer's entry. A target parses the bytes, asserts what must
 * hold of the result, frees everything and returns 0; a defect is a crash. Targets are linked with
 * libFuzzer by tools/fuzz.sh, and with replay.c by `make test`. Seeds: fuzz/corpus/<name>/ for
 * fuzz_<name>.c. */
#ifndef KG_FUZZ_FUZZ_H
#define KG_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
