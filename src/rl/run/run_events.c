/* Writes protocol buffers by hand: a field is a key (number and wire type), then its value. */
#include "rl/run/run_events.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define POLYNOMIAL 0x82f63b78u /* Castagnoli, reflected */
#define MASK       0xa282ead8u /* source: TensorFlow, lib/hash/crc32c.h */

enum wire { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };
enum { EVENT_WALL = 1, EVENT_STEP = 2, EVENT_VERSION = 3, EVENT_SUMMARY = 5 };
enum { SUMMARY_VALUE = 1, VALUE_TAG = 1, VALUE_SIMPLE = 2 };

uint32_t rl_events_crc(const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    uint32_t crc = ~0u;
    for (size_t i = 0; i < n; i++) {
        crc ^= p[i];
        for (int k = 0; k < 8; k++) {
            crc = (crc >> 1) ^ (POLYNOMIAL & -(crc & 1));
        }
    }
    crc = ~crc;
    return ((crc >> 15) | (crc << 17)) + MASK;
}

static void add_varint(struct kg_buf *b, uint64_t x)
{
    while (x >= 0x80) {
        kg_buf_addc(b, (char)(x | 0x80));
        x >>= 7;
    }
    kg_buf_addc(b, (char)x);
}

static void add_key(struct kg_buf *b, int field, enum wire wire)
{
    add_varint(b, (uint64_t)field << 3 | wire);
}

static void add_bytes(struct kg_buf *b, int field, const void *bytes, size_t n)
{
    add_key(b, field, BYTES);
    add_varint(b, n);
    kg_buf_add(b, bytes, n);
}

static void add_record(const struct kg_buf *event, struct kg_buf *out)
{
    uint64_t n = event->len;
    uint32_t crc = rl_events_crc(&n, sizeof n);
    kg_buf_add(out, &n, sizeof n); /* little endian, as this host is */
    kg_buf_add(out, &crc, sizeof crc);
    kg_buf_add(out, event->data, event->len);
    crc = rl_events_crc(event->data, event->len);
    kg_buf_add(out, &crc, sizeof crc);
}

static void begin_event(double wall, struct kg_buf *b)
{
    kg_buf_init(b, 1u << 20);
    add_key(b, EVENT_WALL, FIXED64);
    kg_buf_add(b, &wall, sizeof wall);
}

void rl_events_begin(double wall, struct kg_buf *out)
{
    static const char version[] = "brain.Event:2";
    struct kg_buf event;
    begin_event(wall, &event);
    add_bytes(&event, EVENT_VERSION, version, sizeof version - 1);
    add_record(&event, out);
    kg_buf_deinit(&event);
}

static void add_scalar(const char *phase, const char *name, double x, struct kg_buf *summary)
{
    char tag[128];
    float value = (float)x;
    struct kg_buf one;
    kg_buf_init(&one, 1u << 12);
    snprintf(tag, sizeof tag, "%s/%s", phase, name);
    add_bytes(&one, VALUE_TAG, tag, strlen(tag));
    add_key(&one, VALUE_SIMPLE, FIXED32);
    kg_buf_add(&one, &value, sizeof value);
    add_bytes(summary, SUMMARY_VALUE, one.data, one.len);
    kg_buf_deinit(&one);
}

/* A number, or the first of an interval. */
static const json_t *scalar(const json_t *x)
{
    const json_t *first = json_is_array(x) ? json_array_get(x, 0) : x;
    return json_is_number(first) ? first : NULL;
}

void rl_events_scalars(double wall, const json_t *line, struct kg_buf *out)
{
    const char *name, *phase = json_string_value(json_object_get(line, "phase"));
    const json_t *x;
    struct kg_buf event, summary;
    kg_buf_init(&summary, 1u << 20);
    json_object_foreach((json_t *)(uintptr_t)line, name, x)
    {
        if (scalar(x) != NULL && strcmp(name, "step") != 0) {
            add_scalar(phase ? phase : "run", name, json_number_value(scalar(x)), &summary);
        }
    }
    if (summary.len > 0) {
        begin_event(wall, &event);
        add_key(&event, EVENT_STEP, VARINT);
        add_varint(&event, (uint64_t)json_integer_value(json_object_get(line, "step")));
        add_bytes(&event, EVENT_SUMMARY, summary.data, summary.len);
        add_record(&event, out);
        kg_buf_deinit(&event);
    }
    kg_buf_deinit(&summary);
}
