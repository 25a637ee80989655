#include "topology/replica_age.h"

#include "redis/info.h"

/* After a failover, or a restart without a file, another history begins. */
void replica_age_sample(struct replica_age *age, struct text info, int64_t asked_us)
{
	char history[REPLICA_AGE_ID_BYTES];
	int64_t offset = info_number(info, "master_repl_offset");

	info_value(info, "master_replid", history, sizeof(history));
	if (strcmp(history, age->history) != 0)
		memset(age->samples, 0, sizeof(age->samples));
	memcpy(age->history, history, sizeof(history));
	if (!info_is(info, "role", "master") || offset < 0)
		return;
	age->newest = (age->newest + 1) % REPLICA_AGE_SAMPLES;
	age->samples[age->newest].at_us = asked_us;
	age->samples[age->newest].offset = offset;
}

static const char *why_apart(const struct replica_age *age, struct text info)
{
	if (!info_is(info, "role", "slave"))
		return "it is not a replica";
	if (!info_is(info, "master_link_status", "up"))
		return "its link to the primary is down";
	if (!age->history[0] || !info_is(info, "master_replid", age->history))
		return "it follows another primary";
	return NULL;
}

const char *replica_age_compare(struct replica_age *age, struct text info)
{
	const char *why = why_apart(age, info);
	int64_t offset = info_number(info, "slave_repl_offset");

	if (why)
		age->fresh_us = 0;
	for (unsigned i = 0; i < REPLICA_AGE_SAMPLES && !why; i++) {
		unsigned at = (age->newest + REPLICA_AGE_SAMPLES - i) % REPLICA_AGE_SAMPLES;
		if (age->samples[at].at_us == 0 || age->samples[at].offset > offset)
			continue;
		age->fresh_us = age->samples[at].at_us;
		break;
	}
	return why;
}
