/* access_log: the log line of a request that has ended. */
#ifndef PATTERND_HTTP_ACCESS_LOG_H
#define PATTERND_HTTP_ACCESS_LOG_H

#include <stdint.h>

struct request;

/* Logs the request if --access-log takes it. `status` as it was counted. */
void access_log(struct request *req, int status, int64_t duration_us);

#endif
