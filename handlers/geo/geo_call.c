/*
 * geo_call: see geo_call.h. The cell of a member is XXH3 of its name (64 bits, no seed) modulo the
 * number of cells. This is part of the stored data: another hash would not find members that were
 * stored before.
 */
#include <xxhash.h>

#include <stdlib.h>

#include "geo/geo_call.h"

enum { MAX_REPEATS = 8 };

/* The contract's bound is 85.05112878; Redis's northernmost square ends just below it. */
static const double HIGHEST_LATITUDE = 85.0511287799999;

const char *const geo_units[] = { NULL, "m", "km", "mi", "ft" };

bool geo_begin(struct request *req)
{
	struct geo_work *w = req->work ? req->work : arena_alloc(&req->arena, sizeof(*w));

	if (!w)
		answer_no_memory(req, EFFECT_NONE);
	else if (!req->work)
		w->cells = GEO_DEFAULT_CELLS;
	req->work = w;
	return w;
}

bool geo_is_again(struct request *req, const struct reply *r)
{
	struct geo_work *w = req->work;

	if (reply_outcome(r) != GEO_PUT_RESIZED) /* all scripts of geo have this outcome */
		return false;
	w->cells = reply_int(r, GEO_RESIZED_CELLS);
	if (++w->repeats > MAX_REPEATS)
		answer_problem(req, P_CONTENTION, "the set was rebuilt during each of several attempts");
	else if (w->again)
		w->again(req);
	else
		req->op->run(req, req->input);
	return true;
}

size_t geo_cell_of(struct request *req, struct text member)
{
	const struct geo_work *w = req->work;

	return (size_t)(XXH3_64bits(member.at, member.len) % (uint64_t)w->cells);
}

void geo_cell_key(struct call *c, struct text set, size_t cell)
{
	char digits[TEXT_DIGITS];

	call_key(c, KEY_GEO, set, text_of_int((int64_t)cell, digits).at);
}

void geo_send(struct request *req, struct call *c, call_done done)
{
	const struct geo_work *w = req->work;

	call_int(c, w->cells);
	call_send(c, done);
}

static int by_cell(const void *a, const void *b)
{
	const struct geo_order *x = a, *y = b;

	if (x->cell != y->cell)
		return x->cell < y->cell ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

struct geo_order *geo_group(struct request *req, struct call *c, struct text set, size_t count,
			    struct text (*member)(const void *items, size_t i), const void *items)
{
	struct geo_order *order = arena_alloc(&req->arena, count * sizeof(*order));

	if (!order)
		return NULL;
	for (size_t i = 0; i < count; i++)
		order[i] = (struct geo_order){ geo_cell_of(req, member(items, i)), i };
	qsort(order, count, sizeof(*order), by_cell);
	for (size_t i = 0; i < count; i++)
		if (i == 0 || order[i].cell != order[i - 1].cell)
			geo_cell_key(c, set, order[i].cell);
	return order;
}

void geo_call_group(struct call *c, const struct geo_order *order, size_t at, size_t count)
{
	size_t end = at;

	if (at > 0 && order[at].cell == order[at - 1].cell)
		return;
	while (end < count && order[end].cell == order[at].cell)
		end++;
	call_int(c, (int64_t)(end - at));
}

/*
 * At the eastern and northern ends of its ranges, Redis's geohash overflows: a member there is
 * outside all squares. This computes as Redis does, so it also finds longitudes just below 180 that
 * round to 180.
 */
void geo_call_position(struct call *c, double longitude, double latitude)
{
	call_real(c, longitude + 180 >= 360 ? -180 : longitude);
	call_real(c, latitude >= HIGHEST_LATITUDE ? HIGHEST_LATITUDE : latitude);
}

void geo_call_lookup(struct request *req, struct text set, struct text member, call_done done)
{
	struct call *c = handler_call(req, &geo_member_lookup_script, KEY_GEO, set);

	geo_cell_key(c, set, geo_cell_of(req, member));
	call_int(c, 1);
	call_text(c, member);
	geo_send(req, c, done);
}

void geo_write_degrees(struct json_out *o, const char *key, double degrees)
{
	int64_t units = (int64_t)(degrees * 1e7 + (degrees < 0 ? -0.5 : 0.5));

	out_real(o, key, (double)units / 1e7);
}

bool geo_is_place(const struct reply *r, size_t i)
{
	return reply_text(r, i + GEO_PLACE_GEOHASH).len > 0;
}

void geo_write_place(struct json_out *o, struct text member, const struct reply *r, size_t i)
{
	out_text(o, "member", member);
	geo_write_degrees(o, "longitude", reply_real(r, i + GEO_PLACE_LONGITUDE));
	geo_write_degrees(o, "latitude", reply_real(r, i + GEO_PLACE_LATITUDE));
	out_text(o, "geohash", reply_text(r, i + GEO_PLACE_GEOHASH));
}

void geo_answer_no_member(struct request *req, struct text set, struct text member)
{
	answer_problem(req, P_NOT_FOUND, "geo set '%s' has no member '%s'", set.at, member.at);
}
