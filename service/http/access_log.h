/* access_log: the log line of a request that has ended. It must not know patterns. */
#ifndef PATTERND_HTTP_ACCESS_LOG_H
#define PATTERND_HTTP_ACCESS_LOG_H

#include <stdint.h>

struct request;

/* Logs the request if --access-log includes it. `status` is the one that was counted. */
void access_log(struct request *req, int status, int64_t duration_us);

#endif
