/*
 * daemon_findings: what needs a person about the daemon itself: its servers, its permissions, and
 * the memory of requests. It must not ask Redis.
 */
#ifndef PATTERND_DAEMON_FINDINGS_H
#define PATTERND_DAEMON_FINDINGS_H

#include "json/out.h"

/*
 * Writes the member `findings`. `away_since_ms` is since when the first server is away; 0: none is,
 * or the instant is not known.
 */
void daemon_findings_out(struct json_out *o, int64_t away_since_ms);

#endif
