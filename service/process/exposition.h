/*
 * exposition: a text in the Prometheus exposition format 0.0.4, which grows in an arena. Every name
 * gets the prefix `patternd_`. It must not know a metric.
 */
#ifndef PATTERND_EXPOSITION_H
#define PATTERND_EXPOSITION_H

#include <stddef.h>
#include <stdint.h>

#include "core/text.h"

struct arena;

struct exposition {
	struct arena *arena; /* (ref) */
	char *at;
	size_t len, size;
};

/*
 * Adds one line of at most 512 bytes, formatted as by printf. If memory runs out, the line is left
 * out.
 */
void exposition_add(struct exposition *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Adds a line that consists of parts and a value, of any length. It is fast, since there may be
 * thousands of such lines.
 */
void exposition_line(struct exposition *e, const struct text *parts, size_t n, struct text value);

/* Adds HELP and TYPE of a family. `type` is "counter", "gauge" or "histogram". */
void exposition_head(struct exposition *e, const char *name, const char *type, const char *help);

/* Each adds a family of one series. */
void exposition_counter(struct exposition *e, const char *name, const char *help, uint64_t value);
void exposition_gauge(struct exposition *e, const char *name, const char *help, double value);

/* Writes a label's value with its escapes to `to`, which must have 2 * value.len + 1 bytes. */
struct text exposition_label(char *to, struct text value);

#endif
