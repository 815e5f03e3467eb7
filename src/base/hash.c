#include "base/hash.h"

#include <endian.h>
#include <openssl/evp.h>

#define DIGEST_BYTES 32

/* libcrypto fails here only when memory is exhausted or its library is broken; neither leaves
 * anything sensible to do with a content address, hence assertions. */

static void to_hex(const unsigned char digest[DIGEST_BYTES], char out[KG_SHA256_HEX])
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < DIGEST_BYTES; i++) {
        out[2 * i] = digits[digest[i] >> 4];
        out[2 * i + 1] = digits[digest[i] & 15];
    }
    out[2 * DIGEST_BYTES] = '\0';
}

void kg_sha256_hex(const void *bytes, size_t n, char out[KG_SHA256_HEX])
{
    unsigned char digest[DIGEST_BYTES];
    KG_ASSERT(EVP_Digest(bytes, n, digest, NULL, EVP_sha256(), NULL) == 1);
    to_hex(digest, out);
}

void kg_sha256_begin(struct kg_sha256 *h)
{
    h->ctx = EVP_MD_CTX_new();
    KG_ASSERT(h->ctx != NULL && EVP_DigestInit_ex(h->ctx, EVP_sha256(), NULL) == 1);
}

void kg_sha256_part(struct kg_sha256 *h, const void *bytes, size_t n)
{
    uint64_t length = htole64(n);
    KG_ASSERT(EVP_DigestUpdate(h->ctx, &length, sizeof length) == 1);
    KG_ASSERT(EVP_DigestUpdate(h->ctx, bytes, n) == 1);
}

void kg_sha256_end(struct kg_sha256 *h, char out[KG_SHA256_HEX])
{
    unsigned char digest[DIGEST_BYTES];
    KG_ASSERT(EVP_DigestFinal_ex(h->ctx, digest, NULL) == 1);
    EVP_MD_CTX_free(h->ctx);
    h->ctx = NULL;
    to_hex(digest, out);
}
