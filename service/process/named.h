/*
 * named: figures of single queues, policies and locks: metrics of the names that --metrics-names
 * admits, and samples of these names and of names that are looked at. It must not know a pattern,
 * and asks nothing.
 *
 * A kind is a static table of one pattern: its families, whose cells are adjacent. Memory and
 * series are bounded by NAMED_MOST names per kind. A further name takes the place of the name that
 * was unused for longest, if that is at least NAMED_IDLE_US, or of one without an event. Otherwise
 * its events are counted as dropped. A name without `*` in the option is known from the start and
 * keeps its place. Counters are events of this daemon. Measured families have what Redis returned
 * last; after NAMED_STALE_US they are left out.
 *
 * A name that is looked at and not admitted is in no metrics. There are at most NAMED_LOOKED of
 * them: a further one takes the place of the one whose last look was the longest ago. A look ends
 * after NAMED_LOOK_US.
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
	NAMED_CELLS = 24,
	NAMED_STALE_US = 15000000,
	NAMED_LOOK_US = 300000000,
	NAMED_IDLE_US = 1800000000
};

struct named_family {
	const char *name, *type, *help; /* such as "queue_messages", and "counter" or "gauge" */
	const char *label;              /* a second label; NULL: none, and one cell */
	const char *const *values;      /* values of that label, one per cell; NULL ends the list */
	bool measured;                  /* its cells are set by named_measured */
};

/* One name; owned by its kind. */
struct named {
	struct text name, label; /* label: the name with escapes, as the value of a label */
	double cells[NAMED_CELLS];
	int64_t measured_us; /* 0: never */
	int64_t used_us;
	int64_t looked_us;           /* 0: never */
	struct sample_ring *samples; /* NULL: none yet */
	unsigned born;               /* unique: a later name at this place has another number */
	bool is_admitted;            /* by the option; otherwise it is only looked at */
	bool is_fixed;               /* the option has it without a star */
	bool has_event;
};

struct named_kind {
	const char *kind;  /* as in --metrics-names: "queues" */
	const char *label; /* such as "queue" */
	const struct named_family *families;
	size_t family_count;
	const struct histogram_kind *histogram; /* for all names together; NULL: none */
	struct histogram durations;
	size_t cell_count; /* cells of a sample; those after the cells of the families are only sampled */
	/* Used by named.c only: */
	bool is_on;        /* the option admits names of this kind */
	int64_t looked_us; /* the latest look at any name; 0: never */
	struct named *names;
	size_t count;
	uint64_t dropped;
	struct named_kind *next;
};

/* Call it once for each kind, before named_open. */
void named_register(struct named_kind *kind);

/* Reads --metrics-names. Returns false after a line on stderr. */
bool named_open(const char *option);
void named_close(void);

/*
 * named_is_looked_at: a name of this kind is looked at. named_counts: events of some names
 * count.
 */
static inline bool named_is_looked_at(const struct named_kind *kind)
{
	return kind->looked_us && loop_now_us() - kind->looked_us <= NAMED_LOOK_US;
}

static inline bool named_counts(const struct named_kind *kind)
{
	return kind->is_on || named_is_looked_at(kind);
}

/*
 * Adds to a cell, numbered over the families of the kind. It does nothing if the name is neither
 * admitted nor looked at.
 */
void named_count(struct named_kind *kind, struct text name, size_t cell, uint64_t n);

/* Notes that the name is in use, without an event. */
void named_seen(struct named_kind *kind, struct text name);

/* Counts a duration, if the name is admitted. */
void named_duration(struct named_kind *kind, struct text name, int64_t us);

/* Returns the cells of the measured families of name `i`, for the caller to fill in at once. */
double *named_measured(struct named_kind *kind, size_t i);

/*
 * Has the name looked at from now on. NULL: memory ran out. The result is valid in this iteration.
 */
const struct named *named_look(struct named_kind *kind, struct text name);

/*
 * Returns true if figures of name `i` are wanted: it is looked at, or it is admitted and
 * `is_scraped`.
 */
bool named_is_wanted(const struct named_kind *kind, size_t i, bool is_scraped);

/* Takes a sample of the cells of name `i`. If memory runs out, there is no sample. */
void named_sample(struct named_kind *kind, size_t i, int64_t at_ms);

void named_out(struct exposition *e);

#endif
