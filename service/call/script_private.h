/* call: what a call is made of, for script.c, which builds it, and call_wire.c, which sends it. */
#ifndef PATTERND_CALL_H
#define PATTERND_CALL_H

#include "call/script.h"
#include "core/loop.h"
#include "redis/redis.h"
#include "request/request.h"

/* A list of texts that grows in the arena. */
struct call_strings {
	struct text *at;
	size_t count, size;
};

struct call {
	struct redis_call redis;
	struct request *req;         /* (ref) */
	const struct script *script; /* NULL: a plain command */
	const char *verb;            /* of a plain command; static */
	bool writes;
	bool without_record;
	bool sent_whole; /* after NOSCRIPT */
	struct call_strings keys, args;
	struct text *command; /* keys and args as they are sent, with what begins the command before them */
	size_t command_count;
	call_done done;
	struct call_result result;
	bool skips_foreign;
	int slot;      /* without keys: where it goes */
	bool may_fail; /* and how it did: */
	bool was_full;
	enum redis_outcome fate;
	struct text error; /* Redis's, if that was it, or why it was held */
	unsigned member, replicas;
	const struct reply *kept; /* while acknowledgements are awaited */
	int64_t kept_us;          /* since when */
	bool was_held;            /* before it went */
	struct timer late;        /* then: the end of its time, which was the same for all that */
	bool is_late;
};

/* Puts the command together, the record with it. False without memory. */
bool call_assemble(struct call *c);

#endif
