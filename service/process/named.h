/*
 * named: metrics of single queues, policies and locks, for the names that --metrics-names admits.
 *
 * A kind is a static table of one pattern: its families, whose cells lie side by side. Memory and
 * series are bounded: NAMED_MOST names a kind. A further name takes the place of the one that was
 * not used for the longest time: for NAMED_IDLE_US at least, or one without an event. Otherwise its
 * events are counted as dropped. A name without `*` in the option is known from the start and keeps
 * its place. Counters are this daemon's own events. Measured families are what Redis returned last;
 * when that is older than NAMED_STALE_US they are left out. Knows no pattern, and asks nothing.
 */
#ifndef PATTERND_NAMED_H
#define PATTERND_NAMED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/text.h"
#include "process/histogram.h"

enum { NAMED_MOST = 100, NAMED_CELLS = 12, NAMED_STALE_US = 15000000, NAMED_IDLE_US = 1800000000 };

struct named_family {
	const char *name, *type, *help; /* "queue_messages", "counter" or "gauge" */
	const char *label;              /* a second label; NULL: none, and one cell */
	const char *const *values;      /* of that label, one a cell, ended by NULL */
	bool measured;                  /* its cells are of named_measured */
};

/* One name; owned by its kind. */
struct named {
	struct text name, label; /* and as the value of a label */
	double cells[NAMED_CELLS];
	int64_t measured_us; /* 0: never */
	int64_t used_us;
	unsigned born; /* another name at this place has another number */
	bool is_fixed; /* the option names it without a star */
	bool has_event;
};

struct named_kind {
	const char *kind;  /* in --metrics-names: "queues" */
	const char *label; /* "queue" */
	const struct named_family *families;
	size_t family_count;
	const struct histogram_kind *histogram; /* of all names together; NULL: none */
	struct histogram durations;
	/* named.c's */
	bool is_on;
	struct named *names;
	size_t count;
	uint64_t dropped;
	struct named_kind *next;
};

/* Each kind once, before named_open. */
void named_register(struct named_kind *kind);

/* Reads --metrics-names. False: a line on stderr names what is wrong. */
bool named_open(const char *option);
void named_close(void);

/* Adds to a cell, as numbered over the kind's families. Nothing when the name is not admitted. */
void named_count(struct named_kind *kind, struct text name, size_t cell, uint64_t n);

/* The name is in use, without an event. */
void named_seen(struct named_kind *kind, struct text name);

/* A duration of an admitted name. */
void named_duration(struct named_kind *kind, struct text name, int64_t us);

/* The cells of measured families of name `i`, to be filled in now. */
double *named_measured(struct named_kind *kind, size_t i);

void named_out(struct exposition *e);

#endif
