#include "locks/lock_polls.h"

#include <string.h>

#include "core/loop.h"

enum { NAME_BYTES = 200 }; /* the longest of the contract */

static struct {
	char name[NAME_BYTES];
	size_t len; /* 0: this row is free */
	int64_t first_us, last_us;
} rows[LOCK_POLLS_MOST];

/* Returns the row of a name, or else the row that was used longest ago. */
static size_t row_of(struct text name)
{
	size_t oldest = 0;

	for (size_t i = 0; i < LOCK_POLLS_MOST; i++) {
		if (text_equal((struct text){ rows[i].name, rows[i].len }, name))
			return i;
		if (rows[i].last_us < rows[oldest].last_us)
			oldest = i;
	}
	return oldest;
}

static bool is_polled(size_t i, struct text name)
{
	return text_equal((struct text){ rows[i].name, rows[i].len }, name) &&
	       loop_now_us() - rows[i].last_us <= LOCK_POLL_GAP_US;
}

void lock_polls_note(struct text name)
{
	size_t i = row_of(name);

	if (name.len > NAME_BYTES)
		return;
	if (!is_polled(i, name))
		rows[i].first_us = loop_now_us();
	memcpy(rows[i].name, name.at, name.len);
	rows[i].len = name.len;
	rows[i].last_us = loop_now_us();
}

int64_t lock_polls_ms(struct text name)
{
	size_t i = row_of(name);

	return is_polled(i, name) ? (rows[i].last_us - rows[i].first_us) / 1000 : -1;
}
