/*
 * log: one line per event on stderr, as JSON or text. It must not know what is logged.
 *
 * Lines are gathered and written once per loop iteration. A full pipe never blocks the daemon:
 * lines are dropped and counted.
 */
#ifndef PATTERND_LOG_H
#define PATTERND_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "core/text.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

/*
 * Applies --log-level, --log-format and --access-log. Before that, warnings and errors are written
 * as text.
 */
void log_open(void);

/* Logs an event of the daemon: a short name such as "redis_connected", and a sentence. */
void log_event(enum log_level level, const char *event, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The members of the log line for an answered request. */
struct log_request {
	struct text request_id;
	struct text trace_id; /* absent: the request had none */
	struct text caller;   /* the label of its token; absent: no token */
	struct text resource; /* the first name in the request; absent: none, or not known */
	size_t resources;     /* number of names */
	struct text label;    /* a member of the request, for the client's use; absent: none, or not known */
	const char *label_name;
	const char *operation; /* "-" when no operation matched */
	const char *method;
	int status;
	/* waited_us is the part of duration_us in which the request was parked or streamed */
	int64_t duration_us, waited_us;
	const char *code; /* code of the problem; NULL on success */
	bool is_notable;  /* an operator should look at it: the level is warning */
};
void log_request(const struct log_request *r);

/* Returns true if --access-log includes the request. --log-level is for events only. */
bool log_takes_request(bool is_notable);

/* Switches between the requests of --access-log and all requests, after SIGUSR1, and logs which. */
void log_switch_requests(void);

/* Writes the gathered lines. Call it at the end of each loop iteration. */
void log_flush(void);

/*
 * Returns the number of lines that were dropped since the start, because the reader was too slow.
 */
uint64_t log_dropped(void);

#endif
