/*
 * uv_call: what the handlers of visitors and views share: ranges of days, keys, and what is told of both.
 *
 * Which day today is, Redis decides. The daemon takes its own clock's day, the script refuses it when Redis has another
 * and tells its time, and the call is made once more: with clocks that agree, which is nearly always, it is one trip.
 */
#ifndef PATTERND_UV_CALL_H
#define PATTERND_UV_CALL_H

#include "core/days.h"
#include "handler.h"
#include "kinds.h"

enum { DAYS_MAX = 400 }; /* of all pages together */

extern const double uv_standard_error;

/* What of a call depends on today; in the request's arena, as its work. */
struct when;
typedef void (*send_call)(struct request *req, struct when *w);
struct when {
	send_call send;
	bool has_from, has_to; /* as asked; a single day has `to` only */
	int64_t asked_from, asked_to;
	const char *pointer; /* of the range's start, for problems */
	int64_t pages;       /* keys a day */
	int64_t today;       /* taken for today so far */
	int64_t from, to;    /* with that today */
	int tries;
	struct parts *parts; /* visitors/several_pages.c's */
};

/* Finds out the days, and makes the call. `in_body`: where from and to were given. */
void when_day(struct request *req, send_call send, bool has_at_ms, int64_t at_ms);
void when_range(struct request *req, send_call send, size_t pages, struct text from, struct text to, bool in_body);

/* True when the script did its work; else it was asked again, or the request answered. */
bool when_was_right(struct request *req, const struct reply *r);

/* The day that was taken for today, for a script to check; nothing when the call does not depend on it. */
void call_today(struct call *c, const struct when *w);
void call_days(struct call *c, const char *kind, struct text page, const struct when *w);
void call_retention(struct call *c);

void out_day(struct json_out *o, const char *key, int64_t day);
void out_range(struct json_out *o, int64_t from, int64_t to);
/* `days`, an entry for each; their counts begin at item `i`. */
void out_days(struct json_out *o, const struct when *w, const struct reply *r, size_t i);

/* ---- visitors/visitors.c: what is told in the end; visitors/several_pages.c: what leads there when the pages lie in several slots of a Cluster ---- */

void uv_answer_union(struct request *req, int64_t count, const int64_t *pages);
/* Of uv_merge.lua, and of uv_merge_sum.lua. */
void uv_on_merged(struct request *req, const struct reply *r);
void uv_send_union_parts(struct request *req, struct when *w, const struct slots *slots);
void uv_send_merge_parts(struct request *req, struct when *w);

#endif
