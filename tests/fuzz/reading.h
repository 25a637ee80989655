/*
 * reading: parses the bytes that a client got into a sequence of HTTP responses. Only the last one
 * may be cut.
 */
#ifndef FUZZ_READING_H
#define FUZZ_READING_H

#include <stdbool.h>

#include "core/text.h"

struct reading {
	unsigned answers;    /* final ones, 100 aside */
	bool is_stream;      /* the last one is text/event-stream */
	bool is_whole;       /* nothing of the last one is missing */
	bool was_to_be_last; /* an answer had Connection: close; nothing may follow it */
};

struct reading reading_of(struct text bytes);

#endif
