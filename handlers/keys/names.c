/* names: rebuilds the indexes of names, which the lists of patterns are read from. */
#include "call/name_rebuild.h"
#include "common/handler.h"
#include "common/key_kinds.h"

static void on_rebuilt(struct request *req, const struct name_rebuild *found)
{
	struct json_out *o = answer_begin(req, 200);

	out_int(o, "name_count", found->names);
	out_int(o, "added_count", found->added);
	answer_end(req);
}

void name_index_rebuild(struct request *req, const struct name_index_rebuild_input *in)
{
	static const char *const kinds[] = { INDEXED_KINDS, NULL };

	(void)in;
	name_rebuild_start(req, kinds, on_rebuilt);
}
