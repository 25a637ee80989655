/*
 * checkins: the days on which a user checked in. Each operation is one script
 * (lua/checkins/checkin_*.lua). This file counts days and streaks. Days are plain numbers, so
 * streaks continue over the ends of months and years. Only the script decides which days a range
 * has, and which day is today.
 */
#include "common/handler.h"
#include "common/key_kinds.h"
#include "common/kind.h"

enum {
	MOST_DAYS = 36600, /* in a range: a hundred years */
	USUAL_DAYS = 366,  /* in a range without `from` */
};

/* ---- GET /checkins ---- */

static struct call *get_expiry(struct request *req, struct text name, struct text part)
{
	struct call *c = call_command(req, "PEXPIRETIME", "i", false);

	(void)part;
	call_key(c, KEY_CHECKIN, name, NULL);
	return c;
}

static void item_of(struct json_out *o, struct request *req, struct text name, struct text part, const struct reply *r)
{
	(void)req;
	(void)part;
	if (r->integer == -2) /* it was deleted after it was listed */
		return;
	out_object(o, NULL);
	out_text(o, "name", name);
	out_int_or_null(o, "expires_at_ms", r->integer > 0, r->integer);
	out_close(o);
}

void checkin_list(struct request *req, const struct checkin_list_input *in)
{
	static const struct list_of names = { .kind = KEY_CHECKIN, .look = get_expiry, .item = item_of };

	list_typed_keys(req, &names, in->match, "hash", in->cursor, in->limit);
}

/* ---- PATCH, DELETE /checkins/{name} ---- */

static void out_checkins(struct json_out *o, struct text name, const struct reply *r)
{
	out_text(o, "name", name);
	handler_out_expiry(o, r, CHECKIN_PATCH_EXPIRES_AT_MS);
}

const struct kind checkin_kind = {
	.list.kind = KEY_CHECKIN,
	.missing = { "", " has no check-ins" },
	.patch = &checkin_patch_script,
	.delete = &checkin_delete_script,
	.out = out_checkins,
};

/* ---- PUT, DELETE /checkins/{name}/days/{date} ---- */

static void on_put(struct request *req, const struct reply *r)
{
	const struct checkin_day_put_input *in = req->input;
	struct json_out *o = answer_begin(req, reply_outcome(r) == CHECKIN_DAY_PUT_NEW ? 201 : 200);

	out_text(o, "name", in->name);
	out_text(o, "date", in->date);
	answer_end(req);
}

void checkin_day_put(struct request *req, const struct checkin_day_put_input *in)
{
	int64_t day;

	if (!handler_day(req, in->date, "{date}", &day))
		return;
	struct call *c = handler_call(req, &checkin_day_put_script, KEY_CHECKIN, in->name);
	call_int(c, day);
	call_send(c, on_put);
}

static void on_day_deleted(struct request *req, const struct reply *r)
{
	const struct checkin_day_delete_input *in = req->input;

	if (!handler_removed(req, r))
		answer_problem(req, P_NOT_FOUND, "'%s' did not check in on %s", in->name.at, in->date.at);
}

void checkin_day_delete(struct request *req, const struct checkin_day_delete_input *in)
{
	int64_t day;

	if (!handler_day(req, in->date, "{date}", &day))
		return;
	struct call *c = handler_call(req, &checkin_day_delete_script, KEY_CHECKIN, in->name);
	call_int(c, day);
	call_send(c, on_day_deleted);
}

/* ---- GET /checkins/{name} ---- */

/* Days as bits, in the bit order of SETBIT. */
struct checkin_days {
	struct text bits;
	int64_t first; /* the day of the first bit */
};

static bool was_there(const struct checkin_days *d, int64_t day)
{
	size_t at = (size_t)(day - d->first);

	return at / 8 < d->bits.len && ((unsigned char)d->bits.at[at / 8] >> (7 - at % 8) & 1);
}

/*
 * Returns true if a whole byte of bits begins at `day`, and none of them is set. Most of a hundred
 * years are such bytes.
 */
static bool none_of_eight(const struct checkin_days *d, int64_t day)
{
	size_t at = (size_t)(day - d->first);

	return at % 8 == 0 && (at / 8 >= d->bits.len || d->bits.at[at / 8] == 0);
}

static void out_date(struct json_out *o, int64_t day)
{
	out_object(o, NULL);
	handler_out_day(o, "date", day);
	out_close(o);
}

static void on_days(struct request *req, const struct reply *r)
{
	const struct checkin_get_input *in = req->input;
	int64_t from = reply_int(r, CHECKIN_GET_FROM_DAY), to = reply_int(r, CHECKIN_GET_TO_DAY);
	const struct checkin_days days = { reply_text(r, CHECKIN_GET_BITS), reply_int(r, CHECKIN_GET_BITS_DAY) };
	int64_t count = 0, first = 0, run = 0, longest = 0;

	if (reply_outcome(r) == CHECKIN_GET_NO_RANGE) {
		if (from > to)
			answer_field_problem(req, P_OUT_OF_RANGE, "?from", "must not be after the last day");
		else
			answer_field_problem(req, P_OUT_OF_RANGE, "?from",
					     "makes the range %lld days long; %d are allowed",
					     (long long)(to - from + 1), MOST_DAYS);
		return;
	}
	struct json_out *o = answer_begin(req, 200);
	out_text(o, "name", in->name);
	handler_out_day(o, "from", from);
	handler_out_day(o, "to", to);
	out_array(o, "days");
	for (int64_t day = from; day <= to && day < from + MOST_DAYS; day++) {
		if (day + 8 <= to && none_of_eight(&days, day)) {
			day += 7;
			run = 0;
		} else if (was_there(&days, day)) {
			out_date(o, day);
			if (count++ == 0)
				first = day;
			if (++run > longest)
				longest = run;
		} else if (day < to) { /* the last day may not have ended yet, so it does not end the streak */
			run = 0;
		}
	}
	out_close(o);
	out_int(o, "count", count);
	out_int(o, "current_streak", run);
	out_int(o, "longest_streak", longest);
	if (count)
		handler_out_day(o, "first_day", first);
	else
		out_null(o, "first_day");
	handler_out_expiry(o, r, CHECKIN_GET_EXPIRES_AT_MS);
	answer_end(req);
}

void checkin_get(struct request *req, const struct checkin_get_input *in)
{
	int64_t from = 0, to = 0;

	if ((in->from.at && !handler_day(req, in->from, "?from", &from)) ||
	    (in->to.at && !handler_day(req, in->to, "?to", &to)))
		return;
	struct call *c = handler_call(req, &checkin_get_script, KEY_CHECKIN, in->name);
	handler_call_optional(c, in->from.at != NULL, from);
	handler_call_optional(c, in->to.at != NULL, to);
	call_int(c, MOST_DAYS);
	call_int(c, USUAL_DAYS);
	call_send(c, on_days);
}
