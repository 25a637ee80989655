/*
 * packed: long texts that the build has compressed (tools/pack.py), since they would be most of the program.
 *
 * A pack is inflated whole when the first of its texts is asked for, and stays so.
 */
#ifndef PATTERND_PACKED_H
#define PATTERND_PACKED_H

#include <stddef.h>
#include <stdint.h>

#include "core/text.h"

struct pack {
	const unsigned char *bytes; /* as zstd wrote them */
	size_t size;
	size_t inflated_size;
	char *inflated; /* NULL until asked for */
};

struct packed_text {
	struct pack *pack;
	uint32_t at, len; /* in what it inflates to; a NUL byte follows */
};

/* Lasts as long as the process. Absent without memory, which it cannot be once it was there. */
struct text packed_text(struct packed_text t);

#endif
