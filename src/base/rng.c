/* Random numbers from AES-128 in counter mode, secrets from the kernel, and derived keys. */
#include "base/rng.h"

#include <endian.h>
#include <errno.h>
#include <openssl/evp.h>
#include <string.h>
#include <sys/random.h>

/* The key stream is AES-128 of the counter blocks (stream, 0), (stream, 1), ...: stream and number
 * big endian, 8 bytes each; the key is w[0] then w[1], big endian, as kg_key_hex prints it.
 * Made by libcrypto, or where the processor can do better, by aes_wide.c: the same bytes.
 * How a caller cuts its reads never changes the bytes. */

static void key_bytes(struct kg_key key, unsigned char out[16])
{
    uint64_t w[2] = {htobe64(key.w[0]), htobe64(key.w[1])};
    memcpy(out, w, sizeof w);
}

void kg_rng_init(struct kg_rng *r, struct kg_key key, uint64_t stream)
{
    unsigned char k[16], counter[16] = {0};
    key_bytes(key, k);
    r->at = sizeof r->block;
    r->ctx = NULL;
    if (kg_aes_wide_there()) {
        kg_aes_wide_init(&r->wide, k, stream);
        return;
    }
    uint64_t s = htobe64(stream);
    memcpy(counter, &s, sizeof s);
    r->ctx = EVP_CIPHER_CTX_new();
    /* Fails only when memory is exhausted: there is no generator without it. */
    KG_ASSERT(r->ctx != NULL);
    KG_ASSERT(EVP_EncryptInit_ex(r->ctx, EVP_aes_128_ctr(), NULL, k, counter) == 1);
}

void kg_rng_deinit(struct kg_rng *r)
{
    EVP_CIPHER_CTX_free(r->ctx);
    explicit_bzero(r, sizeof *r);
}

static void keystream(struct kg_rng *r, unsigned char *out, size_t n)
{
    static const unsigned char zeros[16384];
    if (!r->ctx) {
        kg_aes_wide_blocks(&r->wide, out, n / 16); /* n: whole blocks of r->block */
        return;
    }
    while (n > 0) {
        int part = n < sizeof zeros ? (int)n : (int)sizeof zeros, made = 0;
        KG_ASSERT(EVP_EncryptUpdate(r->ctx, out, &made, zeros, part) == 1 && made == part);
        out += part;
        n -= (size_t)part;
    }
}

void kg_rng_bytes(struct kg_rng *r, void *out, size_t n)
{
    unsigned char *p = out;
    size_t ready = sizeof r->block - r->at;
    size_t first = n < ready ? n : ready;
    memcpy(p, r->block + r->at, first);
    r->at += first;
    p += first;
    n -= first;
    /* Whole blocks go straight into the caller's memory: for megabytes the copy would cost as much
     * as the cipher. */
    size_t direct = n - n % sizeof r->block;
    keystream(r, p, direct);
    p += direct;
    n -= direct;
    if (n > 0) {
        keystream(r, r->block, sizeof r->block);
        memcpy(p, r->block, n);
        r->at = n;
    }
}

uint64_t kg_rng_u64(struct kg_rng *r)
{
    uint64_t v;
    kg_rng_bytes(r, &v, sizeof v);
    return le64toh(v);
}

/* Source: Lemire 2019, "Fast random integer generation in an interval". */
uint64_t kg_rng_below(struct kg_rng *r, uint64_t n)
{
    KG_ASSERT(n > 0);
    unsigned __int128 m = (unsigned __int128)kg_rng_u64(r) * n;
    if ((uint64_t)m < n) {
        uint64_t refuse = -n % n;
        while ((uint64_t)m < refuse) {
            m = (unsigned __int128)kg_rng_u64(r) * n;
        }
    }
    return (uint64_t)(m >> 64);
}

int kg_rng_deal(struct kg_rng *r, uint32_t all, uint32_t *dealt)
{
    KG_ASSERT(all != 0);
    *dealt = (all & ~*dealt) != 0 ? *dealt : 0;
    uint32_t left = all & ~*dealt;
    for (uint64_t skip = kg_rng_below(r, (uint64_t)__builtin_popcount(left)); skip > 0; skip--) {
        left &= left - 1;
    }
    int bit = __builtin_ctz(left);
    *dealt |= 1u << bit;
    return bit;
}

double kg_rng_unit(struct kg_rng *r)
{
    return (double)(kg_rng_u64(r) >> 11) * 0x1p-53;
}

/* SHA-256 over a fixed-length prefix (domain, key, number, label length) and the label: no two
 * inputs coincide, and half of the digest is dropped, so it cannot be extended. */
struct kg_key kg_key_derive(struct kg_key key, const char *label, uint64_t number)
{
    static const char domain[16] = "kgym derived key";
    uint64_t head[2] = {htobe64(number), htobe64(strlen(label))};
    unsigned char k[16], digest[32];
    key_bytes(key, k);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    KG_ASSERT(ctx != NULL && EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) == 1);
    KG_ASSERT(EVP_DigestUpdate(ctx, domain, sizeof domain) == 1);
    KG_ASSERT(EVP_DigestUpdate(ctx, k, sizeof k) == 1);
    KG_ASSERT(EVP_DigestUpdate(ctx, head, sizeof head) == 1);
    KG_ASSERT(EVP_DigestUpdate(ctx, label, strlen(label)) == 1);
    KG_ASSERT(EVP_DigestFinal_ex(ctx, digest, NULL) == 1);
    EVP_MD_CTX_free(ctx);
    uint64_t w[2];
    memcpy(w, digest, sizeof w);
    explicit_bzero(k, sizeof k);
    return (struct kg_key){{be64toh(w[0]), be64toh(w[1])}};
}

enum kg_code kg_rng_secret(struct kg_key *out, struct kg_err *err)
{
    unsigned char *p = (unsigned char *)out->w;
    size_t got = 0;
    while (got < sizeof out->w) {
        ssize_t n = getrandom(p + got, sizeof out->w - got, 0);
        if (n < 0 && errno != EINTR) {
            return kg_fail(err, KG_E_HOST, "no random numbers from the operating system: %s",
                           strerror(errno));
        }
        got += n > 0 ? (size_t)n : 0;
    }
    return KG_OK;
}

void kg_key_hex(struct kg_key key, char out[33])
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < 32; i++) {
        out[i] = digits[key.w[i / 16] >> (60 - 4 * (i % 16)) & 15];
    }
    out[32] = '\0';
}

bool kg_key_parse(const char *hex, struct kg_key *out)
{
    struct kg_key key = {{0, 0}};
    for (int i = 0; i < 32; i++) {
        char c = hex[i];
        unsigned digit;
        if (c >= '0' && c <= '9') {
            digit = (unsigned)(c - '0');
        } else if (c >= 'a' && c <= 'f') {
            digit = (unsigned)(c - 'a') + 10;
        } else if (c >= 'A' && c <= 'F') {
            digit = (unsigned)(c - 'A') + 10;
        } else {
            return false;
        }
        key.w[i / 16] = key.w[i / 16] << 4 | digit;
    }
    if (hex[32] != '\0') {
        return false;
    }
    *out = key;
    return true;
}
