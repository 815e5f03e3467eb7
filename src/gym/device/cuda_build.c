/* Gets the machine code of the judge's kernels: from the user's cache folder, or from NVRTC. The
 * key is the text of the kernels, the compute capability and NVRTC's version. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gym/build/cache.h"
#include "gym/device/cuda.h"

static void make_key(const struct kg_nvrtc *n, int major, int minor, char out[KG_SHA256_HEX])
{
    struct kg_sha256 h;
    int version[4] = {major, minor, 0, 0};
    if (n->version(&version[2], &version[3]) != 0) {
        version[2] = -1;
    }
    kg_sha256_begin(&h);
    kg_sha256_part(&h, kg_cuda_source, strlen(kg_cuda_source));
    kg_sha256_part(&h, version, sizeof version);
    kg_sha256_end(&h, out);
}

/* The image that is kept under this key, malloc'ed; NULL if there is none, or if it is damaged. */
static void *kept(const char *path, const char *key)
{
    bool exports = false;
    size_t n = 0;
    if (!kg_cache_check(path, key, "", &exports)) {
        return NULL;
    }
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    char *bytes = fd >= 0 ? kg_object_read(fd, &n) : NULL;
    if (fd >= 0) {
        close(fd);
    }
    return bytes;
}

enum kg_code kg_cuda_image(int major, int minor, void **image, struct kg_err *err)
{
    struct kg_nvrtc_places places = {NULL, getenv("KGYM_PYTHON")};
    struct kg_nvrtc n;
    char folder[400], path[512] = "", key[KG_SHA256_HEX];
    size_t bytes = 0;
    places.python = places.python ? places.python : "python3";
    if (kg_nvrtc_load(&places, &n, err) != KG_OK) {
        return err->code;
    }
    make_key(&n, major, minor, key);
    kg_cache_folder("KGYM_CUDA_CACHE", "cuda", folder, sizeof folder);
    if (*folder != '\0' && kg_cache_path(folder, key, "so", path, sizeof path)) {
        *image = kept(path, key);
        if (*image != NULL) {
            return KG_OK;
        }
    }
    if (kg_nvrtc_build(&n, kg_cuda_source, major, minor, image, &bytes, err) != KG_OK) {
        return err->code;
    }
    if (*path != '\0') {
        struct kg_err ignored = KG_ERR_INIT; /* without a cache only the next start is slower */
        (void)!kg_cache_put(path, key, *image, bytes, &ignored);
    }
    return KG_OK;
}
