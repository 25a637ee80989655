#include "redis/restart.h"

#include <string.h>

#include "core/loop.h"
#include "process/log.h"

#define SECOND_US INT64_C(1000000)
#define HOUR_US (3600 * SECOND_US)

void restart_on_lost(struct redis_restart *r, const struct redis_process *p)
{
	if (strcmp(p->run_id, r->run_id) != 0)
		return;
	r->has_data |= p->has_keys;
	if (p->heard_us > r->heard_us)
		r->heard_us = p->heard_us;
}

/* Redis reports its uptime in whole seconds. */
static bool has_restarted(const struct redis_restart *r, const struct redis_process *p)
{
	return r->run_id[0] && p->uptime_us <= loop_now_us() - r->heard_us + SECOND_US;
}

static void note_restart(struct redis_restart *r, bool began_empty, const char *address)
{
	if (began_empty && r->has_data) {
		r->emptied_ms = loop_wall_ms();
		r->emptied_us = loop_now_us();
		log_event(LOG_WARN, "redis_restarted", "%s restarted and had no data to load: what it held is gone",
			  address);
		return;
	}
	if (!began_empty) /* what was lost by an earlier restart may have been restored */
		r->emptied_ms = 0;
	log_event(LOG_INFO, "redis_restarted", "%s restarted%s", address,
		  began_empty ? "" : " and loaded the data that it had stored");
}

void restart_on_up(struct redis_restart *r, const struct redis_process *p, const char *address)
{
	bool is_same = strcmp(p->run_id, r->run_id) == 0;

	if (!p->run_id[0])
		return;
	if (!is_same && has_restarted(r, p))
		note_restart(r, p->began_empty, address);
	r->has_data = p->has_keys || (is_same && r->has_data);
	if (!is_same)
		r->heard_us = 0;
	memcpy(r->run_id, p->run_id, sizeof(r->run_id));
}

int64_t restart_emptied_at_ms(const struct redis_restart *r)
{
	return loop_now_us() - r->emptied_us < HOUR_US ? r->emptied_ms : 0;
}
