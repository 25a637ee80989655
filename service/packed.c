/* packed: inflates what the build has compressed; see packed.h. */
#include "packed.h"

#include <assert.h>
#include <stdlib.h>
#include <zlib.h>

struct text packed_text(struct packed_text t)
{
	struct pack *p = t.pack;
	uLongf size = p->inflated_size;

	if (!p->inflated) {
		char *into = malloc(size);
		int outcome = into ? uncompress((Bytef *)into, &size, p->bytes, p->size) : Z_MEM_ERROR;
		if (outcome == Z_MEM_ERROR) {
			free(into);
			return (struct text){ 0 };
		}
		assert(outcome == Z_OK && size == p->inflated_size); /* it is our own */
		p->inflated = into;
	}
	return (struct text){ p->inflated + t.at, t.len };
}
