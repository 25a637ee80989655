/* packed: inflates what the build has compressed; see packed.h. */
#include "call/packed.h"

#include <stdlib.h>
#include <zstd.h>

/* Fails for want of memory only: the bytes are our own. */
static char *inflate(const struct pack *p)
{
	char *into = malloc(p->inflated_size);

	if (into && ZSTD_decompress(into, p->inflated_size, p->bytes, p->size) == p->inflated_size)
		return into;
	free(into);
	return NULL;
}

struct text packed_text(struct packed_text t)
{
	struct pack *p = t.pack;

	if (!p->inflated)
		p->inflated = inflate(p);
	return p->inflated ? (struct text){ p->inflated + t.at, t.len } : (struct text){ 0 };
}
