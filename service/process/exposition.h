/*
 * exposition: a text in the Prometheus exposition format 0.0.4 that grows in an arena. Every name
 * gets the prefix `patternd_`. Knows no metric.
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

/* One line, as printf, of at most 512 bytes. Without memory it is left out. */
void exposition_add(struct exposition *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds a line of parts and a value, of any length: there may be thousands of such lines. */
void exposition_line(struct exposition *e, const struct text *parts, size_t n, struct text value);

/* HELP and TYPE of a family: "counter", "gauge" or "histogram". */
void exposition_head(struct exposition *e, const char *name, const char *type, const char *help);

/* A family of one series. */
void exposition_counter(struct exposition *e, const char *name, const char *help, uint64_t value);
void exposition_gauge(struct exposition *e, const char *name, const char *help, double value);

/* A label's value with its escapes, in `to`, which has room for 2 * value.len + 1 bytes. */
struct text exposition_label(char *to, struct text value);

#endif
