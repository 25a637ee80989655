/* reply_reader: see redis/reply_reader.h. It gives hiredis's reader other object functions. */
#include "redis/reply_reader.h"

#include <hiredis/read.h>
#include <stdlib.h>

#include "core/arena.h"

enum {
	MAX_ITEMS = 1024 * 1024, /* in all arrays of one reply */
	KEPT_BYTES = 64 * 1024,  /* of the parser's buffer, between replies */
	MAX_SHORT = 32,          /* an array with at most so many items is allocated at once */
	MAX_DEPTH = 7,           /* nested arrays, as in hiredis 0.14; the daemon's scripts use three levels */
};

struct reply_reader {
	redisReader *parser;
	struct arena arena; /* has the current reply */
	size_t items;       /* items in its arrays so far */
	size_t bytes;       /* bytes in its texts so far */
	size_t most_bytes;
	size_t held; /* bytes in the parser's buffer, at most */
};

/*
 * hiredis 1.0 counts array items in size_t; earlier versions use int. It also added RESP3, which is
 * not used.
 */
#ifdef REDIS_REPLY_PUSH
typedef size_t item_count;
#else
typedef int item_count;
#endif

static struct reply *new_reply(const redisReadTask *task, enum reply_type type)
{
	struct reply_reader *r = task->privdata;
	struct reply *parent = task->parent ? task->parent->obj : NULL;
	struct reply *reply = parent ? parent->items[task->idx] : NULL;

	if (!reply)
		reply = arena_alloc(&r->arena, sizeof(*reply));
	if (!reply)
		return NULL;
	reply->type = type;
	if (parent)
		parent->items[task->idx] = reply;
	return reply;
}

/*
 * Only a short array gets room for its items at once, because a server may announce a long array
 * and never send it.
 */
static struct reply **new_items(struct reply_reader *r, size_t count)
{
	size_t at_once = count <= MAX_SHORT ? count : 0;
	struct reply **items = arena_alloc(&r->arena, count * sizeof(*items) + at_once * sizeof(**items));

	for (size_t i = 0; items && i < at_once; i++)
		items[i] = (struct reply *)(items + count) + i;
	return items;
}

static void *create_string(const redisReadTask *task, char *bytes, size_t len)
{
	struct reply_reader *r = task->privdata;
	enum reply_type type = task->type == REDIS_REPLY_ERROR    ? REPLY_ERROR
			       : task->type == REDIS_REPLY_STATUS ? REPLY_STATUS
								  : REPLY_TEXT;
	struct reply *reply = new_reply(task, type);

	r->bytes += len;
	if (!reply || r->bytes > r->most_bytes)
		return NULL;
	reply->text = arena_copy(&r->arena, bytes, len);
	return reply->text.at ? reply : NULL;
}

static unsigned depth_of(const redisReadTask *task)
{
	unsigned depth = 0;

	for (; task && depth <= MAX_DEPTH; task = task->parent)
		depth++;
	return depth;
}

static void *create_array(const redisReadTask *task, item_count count)
{
	struct reply_reader *r = task->privdata;
	struct reply *reply;

	/* hiredis 1.0 would also make arrays of RESP3's maps, sets and pushes. */
	if (task->type != REDIS_REPLY_ARRAY || (size_t)count > MAX_ITEMS - r->items || depth_of(task) > MAX_DEPTH)
		return NULL;
	r->items += (size_t)count;
	reply = new_reply(task, REPLY_ARRAY);
	if (!reply)
		return NULL;
	reply->count = (size_t)count;
	reply->items = new_items(r, reply->count);
	return reply->items ? reply : NULL;
}

static void *create_integer(const redisReadTask *task, long long value)
{
	struct reply *reply = new_reply(task, REPLY_INTEGER);

	if (reply)
		reply->integer = value;
	return reply;
}

static void *create_nil(const redisReadTask *task)
{
	return new_reply(task, REPLY_NIL);
}

static void free_object(void *object)
{
	(void)object; /* it is in the arena */
}

#ifdef REDIS_REPLY_PUSH
/* RESP3 types are rejected, as in hiredis 0.14. */
static void *refuse_double(const redisReadTask *task, double value, char *text, size_t len)
{
	(void)task;
	(void)value;
	(void)text;
	(void)len;
	return NULL;
}

static void *refuse_bool(const redisReadTask *task, int value)
{
	(void)task;
	(void)value;
	return NULL;
}
#endif

static redisReplyObjectFunctions functions = {
	.createString = create_string,
	.createArray = create_array,
	.createInteger = create_integer,
	.createNil = create_nil,
	.freeObject = free_object,
#ifdef REDIS_REPLY_PUSH
	.createDouble = refuse_double,
	.createBool = refuse_bool,
#endif
};

static redisReader *parser_new(struct reply_reader *r)
{
	redisReader *parser = redisReaderCreateWithFunctions(&functions);

	if (parser) {
		parser->privdata = r;
		parser->maxbuf = 0; /* see shrink */
	}
	return parser;
}

/*
 * hiredis would shrink a large buffer itself, but asserts that there is memory for the small one.
 */
static void shrink(struct reply_reader *r)
{
	redisReader *parser = parser_new(r);

	if (!parser)
		return;
	redisReaderFree(r->parser);
	r->parser = parser;
	r->held = 0;
}

struct reply_reader *reply_reader_new(size_t most_bytes)
{
	struct reply_reader *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->most_bytes = most_bytes;
	r->parser = parser_new(r);
	if (!r->parser) {
		free(r);
		return NULL;
	}
	return r;
}

void reply_reader_free(struct reply_reader *r)
{
	if (!r)
		return;
	redisReaderFree(r->parser);
	arena_free(&r->arena);
	free(r);
}

bool reply_reader_feed(struct reply_reader *r, const char *bytes, size_t len)
{
	bool is_idle = r->parser->len == r->parser->pos && r->parser->ridx < 0;

	if (is_idle && r->held > KEPT_BYTES)
		shrink(r);
	if (r->parser->len - r->parser->pos > r->most_bytes)
		return false;
	if (r->held < r->parser->len + len)
		r->held = r->parser->len + len;
	return redisReaderFeed(r->parser, bytes, len) == REDIS_OK;
}

bool reply_reader_next(struct reply_reader *r, const struct reply **out, const char **why)
{
	void *reply = NULL;

	*out = NULL;
	if (redisReaderGetReply(r->parser, &reply) != REDIS_OK) {
		*why = r->parser->errstr;
		return false;
	}
	*out = reply;
	return true;
}

void reply_reader_done(struct reply_reader *r)
{
	r->items = r->bytes = 0;
	arena_free(&r->arena);
}
