/*
 * restart: whether a server restarted without its data while the daemon ran. It must not know
 * connections.
 *
 * Another server may answer at the same address, such as a promoted replica behind a load balancer.
 * It has another `run_id`, too, but it was started before the earlier server gave its last reply.
 */
#ifndef PATTERND_REDIS_RESTART_H
#define PATTERND_REDIS_RESTART_H

#include "redis/handshake.h"

/* What is known of a server over its restarts. All zero: nothing. */
struct redis_restart {
	char run_id[REDIS_RUN_ID_BYTES]; /* of the latest process; "": not known */
	bool has_data;                   /* that process has or had keys; its owner sets it when it sends writes */
	int64_t heard_us;                /* when a connection that was lost since had its latest reply; 0: none was */
	int64_t emptied_ms, emptied_us;  /* when it was found without its data, by the wall and the loop; 0: never */
};

/* Call it when a connection to `p` was lost. */
void restart_on_lost(struct redis_restart *r, const struct redis_process *p);

/* Call it when a connection to `p` is usable. Logs a restart. */
void restart_on_up(struct redis_restart *r, const struct redis_process *p, const char *address);

/*
 * Returns when the daemon noticed that the server had restarted without its data, by its own clock.
 * 0: it did not within the last hour, or it has restarted with data since.
 */
int64_t restart_emptied_at_ms(const struct redis_restart *r);

#endif
