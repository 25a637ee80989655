/* queue_call: see queue_call.h. */
#include "queue_call.h"

#include "keys.h"

void queue_call_keys(struct call *c, struct text queue)
{
	static const char *const parts[] = {
		NULL,    "due:0", "due:1",  "due:2", "due:3", "due:4", "due:5", "due:6", "due:7",
		"due:8", "due:9", "flight", "dead",  "meta",  "body",  "ids",   "done",
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		call_key(c, KEY_QUEUE, queue, parts[i]);
}

struct call *queue_call(struct request *req, const struct script *s, struct text queue)
{
	struct call *c = script_call(req, s);

	queue_call_keys(c, queue);
	return c;
}

void queue_call_optional(struct call *c, bool has, int64_t value)
{
	call_int(c, has ? value : -1);
}
