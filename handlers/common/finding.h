/*
 * finding: what needs a person, as a member of the item that it is about. A pattern writes it where
 * it writes the item, and GET /overview collects the findings of all items. This file must not know
 * the conditions under which it writes one.
 *
 *	out_array(o, "findings");
 *	if (dead > 0)
 *		finding_out(o, &(struct finding){ .kind = "dead_letters", ... },
 *			    "%" PRId64 " dead letters wait", dead);
 *	out_close(o);
 */
#ifndef PATTERND_FINDING_H
#define PATTERND_FINDING_H

#include <inttypes.h>

#include "json/out.h"

enum {
	/*
	 * A message that is due for so long waits for more than the next receive. If a lock is held
	 * for so long, a client that waits for it may send one short request after the other.
	 */
	FINDING_OLD_MS = 60000,
	FINDING_LATE_MS = 10000, /* how late a schedule may be, or how long a request may wait for a lock */
	FINDING_FAILING = 10,    /* requests in a row that a program failed, or recent deliveries */
	FINDING_DETAIL_BYTES = 320,
};

struct finding {
	const char *kind;     /* of the contract's OverviewFindingKind */
	const char *severity; /* "error": something does not work now; "warning": something waits */
	struct text name;     /* absent: the daemon itself */
	const char *unit;     /* of `value`; NULL: it has no value */
	int64_t value;
	int64_t count;       /* of messages, deliveries or requests; 0: none */
	int64_t since_at_ms; /* 0: unknown */
	int64_t until_ms;    /* 0: none, or unknown */
	struct text message_id, detail;
};

/* Writes the finding with the formatted `detail`, which is cut after FINDING_DETAIL_BYTES. */
void finding_out(struct json_out *o, const struct finding *f, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Writes the finding with its own `detail`. */
void finding_write(struct json_out *o, const struct finding *f);

/* Return the ending of a noun, and the verb, for `n` things. */
const char *finding_plural(int64_t n);
const char *finding_verb(int64_t n);

#endif
