#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gym/run/region.h"

static const char source[] = "/*---kgym\n"
                             "name: t\nlevel: 1\nentry: t\n"
                             "dims: {rows: 7, cols: 33}\n"
                             "args:\n"
                             "  - {name: x, type: \"f32[rows,cols]\", role: in}\n"
                             "  - {name: idx, type: \"i32[rows]\", role: in, range: [0, cols]}\n"
                             "  - {name: w, type: \"f64[cols]\", role: in}\n"
                             "  - {name: y, type: \"f32[rows,cols]\", role: out}\n"
                             "  - {name: k, type: \"i64[rows]\", role: out}\n"
                             "  - {name: rows, type: i64, role: dim}\n"
                             "  - {name: scale, type: f32, role: param, value: 0.5}\n"
                             "  - {name: half, type: f64, role: param, value: 1.25}\n"
                             "  - {name: steps, type: i32, role: param, value: -3}\n"
                             "---*/\n"
                             "void t(const real *x) { (void)x; }\n";

static struct kg_problem *problem;
static struct kg_shape shape;

static int set_up(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    if (kg_problem_parse(source, sizeof source - 1, "t.c", &problem, &err) != KG_OK) {
        printf("%s\n", err.message);
        return -1;
    }
    kg_shape_default(problem, &shape);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    kg_problem_destroy(problem);
    return 0;
}

/* --- regions --- */

static struct kg_region mapped(size_t bytes, bool read_only)
{
    struct kg_region r;
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(kg_region_create(bytes, read_only, &r, &err), KG_OK);
    assert_null(r.map);
    assert_int_equal(kg_region_map(&r, read_only, true, &err), KG_OK);
    assert_non_null(r.map);
    return r;
}

static void input_region_cannot_be_written_by_runners(void **state)
{
    (void)state;
    struct kg_region r = mapped(100000, true);
    assert_true(kg_region_sealed(&r));
    int fds[] = {r.runner_fd, r.fd}; /* even the trusted descriptor, should it leak */
    for (int k = 0; k < 2; k++) {
        assert_ptr_equal(mmap(NULL, r.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fds[k], 0),
                         MAP_FAILED);
        unsigned char *p = mmap(NULL, r.bytes, PROT_READ, MAP_SHARED, fds[k], 0);
        assert_ptr_not_equal(p, MAP_FAILED);
        assert_int_not_equal(mprotect(p, r.bytes, PROT_READ | PROT_WRITE), 0);
        assert_int_equal(errno, EACCES);
        r.map[77] = (unsigned char)(10 + k); /* the trusted side writes, the reader sees it */
        assert_int_equal(p[77], 10 + k);
        munmap(p, r.bytes);
        assert_true(write(fds[k], "x", 1) < 0);
        assert_true(pwrite(fds[k], "x", 1, 0) < 0);
        assert_int_not_equal(ftruncate(fds[k], 4096), 0);
        assert_int_not_equal(ftruncate(fds[k], 1 << 20), 0);
        assert_int_not_equal(fallocate(fds[k], FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096),
                             0);
        assert_int_not_equal(fcntl(fds[k], F_ADD_SEALS, F_SEAL_WRITE), 0);
    }
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", r.runner_fd);
    int again = open(path, O_RDWR | O_CLOEXEC); /* root may open it; the seals still hold */
    if (again >= 0) {
        assert_ptr_equal(mmap(NULL, r.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, again, 0),
                         MAP_FAILED);
        assert_true(write(again, "x", 1) < 0);
        close(again);
    }
    kg_region_destroy(&r);
}

static void runner_descriptor_is_read_only_before_the_seals(void **state)
{
    (void)state;
    struct kg_region r;
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(kg_region_create(4096, true, &r, &err), KG_OK);
    assert_false(kg_region_sealed(&r));
    assert_int_equal(fcntl(r.runner_fd, F_GETFL) & O_ACCMODE, O_RDONLY);
    kg_region_destroy(&r);
}

/* With 2 MB pages (where the host lets us mount) there is no seal, only a descriptor that reads. */
static void a_large_input_region_cannot_be_written_by_a_runner(void **state)
{
    (void)state;
    struct kg_region r = mapped(3 << 20, true);
    assert_true(kg_region_sealed(&r));
    r.map[7] = 7;
    unsigned char *p = mmap(NULL, r.bytes, PROT_READ, MAP_SHARED, r.runner_fd, 0);
    assert_ptr_not_equal(p, MAP_FAILED);
    assert_int_equal(p[7], 7);
    assert_true(mprotect(p, 4096, PROT_READ | PROT_WRITE) < 0);
    assert_ptr_equal(mmap(NULL, r.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, r.runner_fd, 0),
                     MAP_FAILED);
    assert_true(pwrite(r.runner_fd, "x", 1, 0) < 0);
    assert_true(ftruncate(r.runner_fd, 0) < 0);
    munmap(p, r.bytes);
    if (r.huge) { /* the trusted descriptor in its place would be noticed */
        close(r.runner_fd);
        r.runner_fd = dup(r.fd);
        assert_false(kg_region_sealed(&r));
    }
    kg_region_destroy(&r);
}

static void output_region_is_writable_by_both(void **state)
{
    (void)state;
    struct kg_region r = mapped(5000, false);
    assert_int_equal(r.runner_fd, r.fd);
    assert_false(kg_region_sealed(&r));
    unsigned char *p = mmap(NULL, r.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, r.runner_fd, 0);
    assert_ptr_not_equal(p, MAP_FAILED);
    p[9] = 99;
    assert_int_equal(r.map[9], 99);
    munmap(p, r.bytes);
    kg_region_destroy(&r);
}

static void sizes_are_rounded_and_bounded(void **state)
{
    (void)state;
    struct kg_region r;
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(kg_region_create(1, false, &r, &err), KG_OK);
    assert_int_equal(r.bytes, 4096);
    assert_false(r.huge);
    kg_region_destroy(&r);
    assert_int_equal(kg_region_create((2 << 20) + 1, false, &r, &err), KG_OK);
    assert_true(r.bytes >= (2 << 20) + 1 && r.bytes % (r.huge ? 2 << 20 : 4096) == 0);
    kg_region_destroy(&r);
    assert_int_equal(kg_region_create(0, false, &r, &err), KG_E_LIMIT);
    assert_string_equal(err.message, "a region of 0 bytes: 1 to 68719476736 can be had");
    assert_int_equal(kg_region_create((size_t)1 << 37, false, &r, &err), KG_E_LIMIT);
    assert_int_equal(r.fd, -1);
    kg_region_destroy(&r); /* of one that was never made */
}

static void mapping_is_resident_and_keeps_contents(void **state)
{
    (void)state;
    struct kg_region r = mapped(3 << 20, false), second;
    struct kg_err err = KG_ERR_INIT;
    unsigned char in_core[1024];
    size_t pages = r.bytes / 4096;
    assert_true(pages <= sizeof in_core);
    assert_int_equal(mincore(r.map, r.bytes, in_core), 0);
    for (size_t k = 0; k < pages; k++) {
        assert_true(in_core[k] & 1);
    }
    memset(r.map, 5, r.bytes);
    second = r;
    assert_int_equal(kg_region_map(&second, false, true, &err), KG_OK);
    assert_memory_equal(second.map, r.map, r.bytes);
    assert_int_equal(second.map[4096], 5);
    munmap(second.map, second.bytes);
    kg_region_destroy(&r);
}

static void large_regions_are_aligned_for_huge_pages(void **state)
{
    (void)state;
    struct kg_region r = mapped(4 << 20, true);
    assert_int_equal((uintptr_t)r.map % (2 << 20), 0);
    kg_region_destroy(&r);
}

static void descriptors_do_not_leak_through_exec(void **state)
{
    (void)state;
    struct kg_region r = mapped(4096, true);
    assert_true(fcntl(r.fd, F_GETFD) & FD_CLOEXEC);
    assert_true(fcntl(r.runner_fd, F_GETFD) & FD_CLOEXEC);
    kg_region_destroy(&r);
}

/* --- layouts --- */

static uint64_t element(int arg, bool wide)
{
    enum kg_dtype t = problem->args[arg].dtype;
    return wide && t == KG_F32 ? 8 : kg_dtype_bytes(t);
}

static bool is_array(int arg)
{
    return problem->args[arg].role == KG_ROLE_IN || problem->args[arg].role == KG_ROLE_OUT;
}

/* What every layout keeps: order, sizes, guards of at least the minimum, alignment to the element.
 */
static void check_layout(const struct kg_layout *l, bool wide, uint64_t in_base, uint64_t out_base)
{
    uint64_t in = in_base, out = out_base;
    for (int k = 0; k < problem->nargs; k++) {
        if (!is_array(k)) {
            assert_int_equal(l->bytes[k], 0);
            continue;
        }
        uint64_t *at = problem->args[k].role == KG_ROLE_IN ? &in : &out;
        assert_int_equal(l->bytes[k],
                         (uint64_t)kg_arg_count(problem, k, &shape) * element(k, wide));
        assert_true(l->offset[k] >= *at + KG_GUARD_BYTES);
        assert_int_equal(l->offset[k] % element(k, wide), 0);
        *at = l->offset[k] + l->bytes[k];
    }
    assert_true(l->in_end >= in + KG_GUARD_BYTES && l->out_end >= out + KG_GUARD_BYTES);
    assert_true(l->in_end % 64 == 0 && l->out_end % 64 == 0);
}

static void default_layout_is_aligned_to_lines(void **state)
{
    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        struct kg_layout l;
        kg_layout_plan(problem, &shape, wide, 0, 4096, 8, &l);
        check_layout(&l, wide, 4096, 8);
        for (int k = 0; k < problem->nargs; k++) {
            assert_int_equal(l.offset[k] % 64, 0);
        }
    }
}

static void jitter_moves_arrays_off_every_alignment_but_their_own(void **state)
{
    (void)state;
    uint64_t offsets_mod_64 = 0, gaps = 0, last = 0;
    for (uint64_t jitter = 1; jitter < 500; jitter++) {
        struct kg_layout l;
        kg_layout_plan(problem, &shape, jitter & 1, jitter, 64, 128, &l);
        check_layout(&l, jitter & 1, 64, 128);
        for (int k = 0; k < problem->nargs; k++) {
            if (is_array(k)) {
                assert_int_not_equal(l.offset[k] % (2 * element(k, jitter & 1)), 0);
            }
        }
        offsets_mod_64 |= (uint64_t)1 << l.offset[0] % 64;
        gaps += l.offset[1] - l.offset[0] != last;
        last = l.offset[1] - l.offset[0];
    }
    assert_true(__builtin_popcountll(offsets_mod_64) > 6);
    assert_true(gaps > 400);
}

static void layout_is_a_function_of_its_arguments(void **state)
{
    (void)state;
    struct kg_layout a, b;
    kg_layout_plan(problem, &shape, false, 77, 0, 0, &a);
    kg_layout_plan(problem, &shape, false, 77, 0, 0, &b);
    assert_memory_equal(&a, &b, sizeof a);
    kg_layout_plan(problem, &shape, false, 77, 1 << 20, 1 << 21, &b);
    for (int k = 0; k < problem->nargs; k++) {
        uint64_t shift = problem->args[k].role == KG_ROLE_IN ? 1 << 20 : 1 << 21;
        assert_int_equal(b.offset[k] - a.offset[k], is_array(k) ? shift : 0);
    }
}

static void widest_jitter_bounds_all_others(void **state)
{
    (void)state;
    struct kg_layout widest, l;
    kg_layout_plan(problem, &shape, false, KG_JITTER_WIDEST, 0, 0, &widest);
    check_layout(&widest, false, 0, 0);
    uint64_t most_in = 0, most_out = 0;
    for (uint64_t jitter = 0; jitter < 3000; jitter++) {
        kg_layout_plan(problem, &shape, false, jitter * 0x9e3779b97f4a7c15u, 0, 0, &l);
        most_in = l.in_end > most_in ? l.in_end : most_in;
        most_out = l.out_end > most_out ? l.out_end : most_out;
    }
    assert_true(most_in <= widest.in_end && most_out <= widest.out_end);
    assert_true(most_in + 4096 > widest.in_end); /* and not by much */
}

static void impossible_shapes_end_beyond_any_region(void **state)
{
    (void)state;
    struct kg_shape huge = {.dim = {INT64_MAX / 2, 33}}, none = {.dim = {0, 33}};
    struct kg_layout l;
    kg_layout_plan(problem, &huge, true, 0, 0, 0, &l);
    assert_true(l.in_end > (uint64_t)1 << 60 && l.out_end > (uint64_t)1 << 60);
    kg_layout_plan(problem, &none, true, 5, 0, 0, &l);
    assert_true(l.in_end > (uint64_t)1 << 60);
}

static void call_words(void **state)
{
    (void)state;
    struct kg_layout l;
    struct kg_wire_call c;
    float f = 0.5f;
    double d = 1.25, wide_f = 0.5;
    uint64_t fbits = 0, dbits, wbits;
    memcpy(&fbits, &f, sizeof f);
    memcpy(&dbits, &d, sizeof d);
    memcpy(&wbits, &wide_f, sizeof wide_f);
    kg_layout_plan(problem, &shape, false, 3, 0, 0, &l);
    kg_layout_call(problem, &shape, (struct kg_key){{0, 0}}, &l, false, &c);
    assert_int_equal(c.nargs, 9);
    assert_int_equal(c.cls[0], KG_WIRE_PTR);
    assert_true(c.word[0] == KG_ADDR_IN + l.offset[0] && c.word[2] == KG_ADDR_IN + l.offset[2]);
    assert_true(c.word[3] == KG_ADDR_OUT + l.offset[3] && c.word[4] == KG_ADDR_OUT + l.offset[4]);
    assert_true(c.cls[5] == KG_WIRE_I64 && c.word[5] == 7);
    assert_true(c.cls[6] == KG_WIRE_F32 && c.word[6] == fbits);
    assert_true(c.cls[7] == KG_WIRE_F64 && c.word[7] == dbits);
    assert_true(c.cls[8] == KG_WIRE_I32 && c.word[8] == (uint32_t)-3);
    kg_layout_call(problem, &shape, (struct kg_key){{0, 0}}, &l, true, &c);
    assert_true(c.cls[6] == KG_WIRE_F64 && c.word[6] == wbits); /* `real` is double */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(input_region_cannot_be_written_by_runners),
        cmocka_unit_test(runner_descriptor_is_read_only_before_the_seals),
        cmocka_unit_test(a_large_input_region_cannot_be_written_by_a_runner),
        cmocka_unit_test(output_region_is_writable_by_both),
        cmocka_unit_test(sizes_are_rounded_and_bounded),
        cmocka_unit_test(mapping_is_resident_and_keeps_contents),
        cmocka_unit_test(large_regions_are_aligned_for_huge_pages),
        cmocka_unit_test(descriptors_do_not_leak_through_exec),
        cmocka_unit_test(default_layout_is_aligned_to_lines),
        cmocka_unit_test(jitter_moves_arrays_off_every_alignment_but_their_own),
        cmocka_unit_test(layout_is_a_function_of_its_arguments),
        cmocka_unit_test(widest_jitter_bounds_all_others),
        cmocka_unit_test(impossible_shapes_end_beyond_any_region),
        cmocka_unit_test(call_words),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
