#include "tests/support/faulty_endpoint.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"

static void write_pem(const char *path, EVP_PKEY *key, X509 *certificate)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(key != NULL ? PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL)
                                 : PEM_write_X509(f, certificate),
                     1);
    assert_int_equal(fclose(f), 0);
}

/* A certificate for 127.0.0.1 that nobody trusts. */
static void make_certificate(struct faulty_endpoint *f, char key_path[96])
{
    snprintf(f->certificate, sizeof f->certificate, "%s/certificate.pem", f->folder);
    snprintf(key_path, 96, "%s/key.pem", f->folder);
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *x = X509_new();
    assert_non_null(key);
    assert_non_null(x);
    X509_set_version(x, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
    X509_gmtime_adj(X509_getm_notBefore(x), -86400);
    X509_gmtime_adj(X509_getm_notAfter(x), 86400);
    X509_set_pubkey(x, key);
    X509_NAME *name = X509_get_subject_name(x);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"test", -1, -1, 0);
    X509_set_issuer_name(x, name);
    X509_EXTENSION *who = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, "IP:127.0.0.1");
    assert_non_null(who);
    X509_add_ext(x, who, -1);
    X509_EXTENSION_free(who);
    assert_true(X509_sign(x, key, EVP_sha256()) > 0);
    write_pem(f->certificate, NULL, x);
    write_pem(key_path, key, NULL);
    X509_free(x);
    EVP_PKEY_free(key);
}

/* Paths of the tree. */
static const char *in_tree(const char *name, char out[4096])
{
    const char *tree = getenv("KGYM_TREE");
    snprintf(out, 4096, "%s/%s", tree != NULL ? tree : ".", name);
    return out;
}

/* Starts python with a script and at most two words for it; its first line ends with the port. */
static void start(struct faulty_endpoint *f, const char *python, const char *script,
                  const char *first, const char *second)
{
    int in[2], out[2];
    char line[64] = "", path[4096];
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    in_tree(script, path);
    fflush(NULL);
    f->pid = fork();
    assert_true(f->pid >= 0);
    if (f->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(in[0], 0);
        dup2(out[1], 1);
        execlp(python, python, path, first, second, (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    f->in = in[1];
    size_t n = 0;
    for (ssize_t got; n + 1 < sizeof line && strchr(line, '\n') == NULL; n += (size_t)got) {
        got = read(out[0], line + n, sizeof line - 1 - n);
        if (got <= 0) {
            fail_msg("%s did not start %s", python, path);
        }
    }
    close(out[0]);
    const char *colon = strrchr(line, ':');
    f->port = (int)strtol(colon != NULL ? colon + 1 : line, NULL, 10);
    assert_true(f->port > 0);
}

static void make_folder(struct faulty_endpoint *f)
{
    snprintf(f->folder, sizeof f->folder, "/tmp/kgym-endpoint-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
}

void faulty_endpoint_start(struct faulty_endpoint *f, bool tls)
{
    char key_path[96] = "";
    *f = (struct faulty_endpoint){.tls = tls};
    make_folder(f);
    if (tls) {
        make_certificate(f, key_path);
    }
    start(f, "python3", "tests/support/faulty_endpoint.py", tls ? f->certificate : NULL, key_path);
}

bool faulty_endpoint_llama(struct faulty_endpoint *f)
{
    char python[4096];
    *f = (struct faulty_endpoint){.llama = true};
    if (access(in_tree("build/llama-venv/bin/python", python), X_OK) != 0) {
        return false;
    }
    make_folder(f);
    start(f, python, "tests/support/llama_server.py", f->folder, NULL);
    return true;
}

void faulty_endpoint_end(struct faulty_endpoint *f)
{
    struct kg_err err = KG_ERR_INIT;
    close(f->in);
    kill(f->pid, SIGKILL);
    assert_int_equal(waitpid(f->pid, NULL, 0), f->pid);
    assert_int_equal(kg_file_remove_tree(f->folder, &err), KG_OK);
}

const char *faulty_endpoint_policy(const struct faulty_endpoint *f, const char *fault)
{
    static char text[4][160];
    static int at;
    at = (at + 1) % 4;
    snprintf(text[at], sizeof text[at], "endpoint:http%s://127.0.0.1:%d%s%s%s", f->tls ? "s" : "",
             f->port, f->llama ? "" : "/", f->llama ? "" : fault, f->llama ? "" : "/v1");
    return text[at];
}
