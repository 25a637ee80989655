/*
 * named: figures of single queues, policies and locks: metrics of the names that --metrics-names
 * admits, and samples of those and of names that are looked at.
 *
 * A kind is a static table of one pattern: its families, whose cells lie side by side. Memory and
 * series are bounded: NAMED_MOST names a kind. A further name takes the place of the one that was
 * not used for the longest time: for NAMED_IDLE_US at least, or one without an event. Otherwise its
 * events are counted as dropped. A name without `*` in the option is known from the start and keeps
 * its place. Counters are this daemon's own events. Measured families are what Redis returned last;
 * when that is older than NAMED_STALE_US they are left out.
 *
 * A name that is looked at and not admitted is in no metrics. There are NAMED_LOOKED of them at
 * most: a further one takes the place of the one that was looked at the longest ago. The last look
 * ends after NAMED_LOOK_US. Knows no pattern, and asks nothing.
 */
#ifndef PATTERND_NAMED_H
#define PATTERND_NAMED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/loop.h"
#include "core/text.h"
#include "process/histogram.h"
#include "process/sample_ring.h"

enum {
	NAMED_MOST = 100,
	NAMED_LOOKED = 32,
	NAMED_CELLS = 13,
	NAMED_STALE_US = 15000000,
	NAMED_LOOK_US = 300000000,
	NAMED_IDLE_US = 1800000000
};

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
	int64_t looked_us;           /* 0: never */
	struct sample_ring *samples; /* NULL: none yet */
	unsigned born;               /* another name at this place has another number */
	bool is_admitted;            /* by the option; else it is only looked at */
	bool is_fixed;               /* the option names it without a star */
	bool has_event;
};

struct named_kind {
	const char *kind;  /* in --metrics-names: "queues" */
	const char *label; /* "queue" */
	const struct named_family *families;
	size_t family_count;
	const struct histogram_kind *histogram; /* of all names together; NULL: none */
	struct histogram durations;
	size_t cell_count; /* of a sample: the families' cells, and more that are only sampled */
	/* named.c's */
	bool is_on;        /* the option admits some */
	int64_t looked_us; /* the latest look at any; 0: never */
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

/* Whether any name of this kind is looked at; and whether events of any are of use. */
static inline bool named_is_looked_at(const struct named_kind *kind)
{
	return kind->looked_us && loop_now_us() - kind->looked_us <= NAMED_LOOK_US;
}

static inline bool named_counts(const struct named_kind *kind)
{
	return kind->is_on || named_is_looked_at(kind);
}

/*
 * Adds to a cell, as numbered over the kind's families. Nothing when the name is neither admitted
 * nor looked at.
 */
void named_count(struct named_kind *kind, struct text name, size_t cell, uint64_t n);

/* The name is in use, without an event. */
void named_seen(struct named_kind *kind, struct text name);

/* A duration of an admitted name. */
void named_duration(struct named_kind *kind, struct text name, int64_t us);

/* The cells of measured families of name `i`, to be filled in now. */
double *named_measured(struct named_kind *kind, size_t i);

/* The name is looked at from now on. NULL without memory. Valid in this iteration. */
const struct named *named_look(struct named_kind *kind, struct text name);

/* Whether name `i` is looked at, or is admitted and `is_scraped`: its figures are wanted. */
bool named_is_wanted(const struct named_kind *kind, size_t i, bool is_scraped);

/* Takes a sample of the cells of name `i`; without memory it is left out. */
void named_sample(struct named_kind *kind, size_t i, int64_t at_ms);

void named_out(struct exposition *e);

#endif
