/*
 * log: one line per event on stderr, JSON or text.
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
 * Applies --log-level, --log-format and --access-log; until then warnings and errors are written as
 * text.
 */
void log_open(void);

/* An event of the daemon itself: a short name ("redis_connected") and a sentence. */
void log_event(enum log_level level, const char *event, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The parts of the log line of an answered request. */
struct log_request {
	struct text request_id;
	struct text trace_id; /* absent: none came */
	struct text caller;   /* the label of its token; absent: it has none */
	struct text resource; /* the first name it is about; absent: none, or not known */
	size_t resources;     /* how many names there are */
	struct text label;    /* the client's own, a member of its request; absent: none, or not known */
	const char *label_name;
	const char *operation; /* "-" when no operation matched */
	const char *method;
	int status;
	int64_t duration_us, waited_us; /* the whole time, and the part of it in which it was parked or streamed */
	const char *code;               /* of the problem; NULL on success */
	bool is_notable;                /* it needs a person: a warning */
};
void log_request(const struct log_request *r);

/* Whether --access-log includes a request. --log-level is for events only. */
bool log_takes_request(bool is_notable);

/* SIGUSR1: switches between the requests of --access-log and all, and logs which. */
void log_switch_requests(void);

/* Writes what was gathered; called at the end of each loop iteration. */
void log_flush(void);

/* Lines lost to a reader that did not keep up, since start. */
uint64_t log_dropped(void);

#endif
