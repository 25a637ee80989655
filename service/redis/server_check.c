#include "redis/server_check.h"

#include "core/loop.h"
#include "process/metrics.h"

enum { FULL_CHECK_US = 1000 * 1000 };

const struct text server_check_command[SERVER_CHECK_ARGS] = { TEXT("INFO"), TEXT("memory"), TEXT("persistence"),
							      TEXT("keyspace") };

static bool is_nearly_full(const struct redis_memory *m)
{
	return m->limit > 0 && m->used > m->limit / 10 * 9;
}

bool server_check_is_due(const struct server_check *s)
{
	int64_t pause_us = s->has_refused || is_nearly_full(&s->memory) ? FULL_CHECK_US : SERVER_CHECK_US;

	return !s->is_pending && loop_now_us() - s->asked_us >= pause_us;
}

void server_check_begin(struct server_check *s)
{
	s->asked_us = loop_now_us();
	s->has_refused = false;
}

void server_check_learn(struct server_check *s, const struct redis_handshake *h)
{
	s->asked_us = loop_now_us();
	s->memory = h->memory;
	s->risks = h->risks;
}

bool server_check_on_reply(struct server_check *s, const struct reply *reply)
{
	if (reply->type != REPLY_ERROR || redis_error_of(reply->text) != ERROR_OOM)
		return false;
	metrics_count(METRIC_redis_out_of_memory);
	s->has_refused = true;
	return true;
}
