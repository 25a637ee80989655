/*
 * visitor_call: what the handlers of visitors and views share: ranges of days, keys, members of
 * answers.
 *
 * Redis decides which day is today. A call carries the day of the daemon's clock. If Redis has
 * another day, the script refuses the call and returns its time, and the call is repeated. If the
 * clocks agree, which is usual, there is one round trip.
 */
#ifndef PATTERND_UV_CALL_H
#define PATTERND_UV_CALL_H

#include "common/handler.h"
#include "common/key_kinds.h"

enum { DAYS_MAX = 400 }; /* in a request, of all its pages together */

/* The day after the contract's last day. A merge only reads days that a source has. */
enum { VISITOR_DAYS_END = 47483 };

extern const double visitor_standard_error;

/* The days of a call, in the request's arena, as req->work. */
struct visitor_days;
typedef void (*visitor_send)(struct request *req, struct visitor_days *w);
struct visitor_days {
	visitor_send send;
	bool has_from, has_to; /* as requested; a single day has `to` only */
	int64_t asked_from, asked_to;
	const char *pointer; /* what problems name: the parameter with the start of the range */
	int64_t pages;       /* keys per day */
	int64_t today;       /* the day that is assumed to be today */
	int64_t from, to;    /* the range with that `today` */
	int attempts;
	struct page_parts *parts; /* used by visitors/visitor_slots.c only */
};

/*
 * Determines the days and calls `send`. visitor_call_day takes `date`, else the day of at_ms, else
 * today. visitor_call_range: `in_body` states where from and to were given.
 */
void visitor_call_day(struct request *req, visitor_send send, bool has_at_ms, int64_t at_ms, struct text date);
void visitor_call_range(struct request *req, visitor_send send, size_t pages, struct text from, struct text to,
			bool in_body);

/* False: the script refused the day, and the call was repeated or the request answered. */
bool visitor_day_was_right(struct request *req, const struct reply *r);

/*
 * Adds the day that is assumed to be today, which the script checks. It is empty if the call does
 * not depend on it.
 */
static inline void visitor_call_today(struct call *c, const struct visitor_days *w)
{
	handler_call_optional(c, !w->has_to, w->today);
}

void visitor_call_days(struct call *c, const char *kind, struct text page, const struct visitor_days *w);
void visitor_call_total(struct call *c, const char *kind, struct text page);
void visitor_call_retention(struct call *c);

void visitor_out_total(struct json_out *o, int64_t total); /* below 0: the page keeps no total */
void visitor_out_range(struct json_out *o, int64_t from, int64_t to);
/* Writes `days`, with an entry per day. The counts begin at item `i`. */
void visitor_out_days(struct json_out *o, const struct visitor_days *w, const struct reply *r, size_t i);

#endif
