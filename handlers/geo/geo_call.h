/*
 * geo_call: what the files of geo share: calls for sets, which are split into cells
 * (lua/geo/lib_geo_cells.lua).
 *
 *	void geo_member_put(struct request *req, ...) { geo_begin(req, send_put); }
 *	static void send_put(req) { ...; geo_cell_key(...); geo_send(req, c, on_put); }
 *	static void on_put(req, r) { if (geo_is_again(req, r)) return; ... }
 *
 * Only Redis knows how many cells a set has. So each request first assumes the number of a
 * set without settings; a script that knows better returns how many there are, and the request
 * starts again with these.
 */
#ifndef PATTERND_GEO_CALL_H
#define PATTERND_GEO_CALL_H

#include "common/handler.h"
#include "common/kinds.h"

/* Of a set without settings: the contract's default, and lua/geo/lib_geo_default.lua. */
enum { GEO_DEFAULT_CELLS = 16 };

/* By the contract's enum. */
extern const char *const geo_units[];

/* A request under way; in its arena, at `work`. */
struct geo_work {
	int64_t cells; /* as far as is known */
	unsigned repeats;
	void (*send)(struct request *req);
	void *more; /* of the operation */
};

/*
 * Runs `send` now, and again for each time that the set turns out to have another number of cells.
 */
void geo_begin(struct request *req, void (*send)(struct request *req));

/* First thing in a `done`: true when the request starts again, or was answered. */
bool geo_is_again(struct request *req, const struct reply *r);

/*
 * Adds two arguments: the position in a form that Redis can store and find. 180 degrees becomes
 * -180, and the northern bound is a little lower.
 */
void geo_call_position(struct call *c, double longitude, double latitude);

/* The cell of a member. */
size_t geo_cell_of(struct request *req, struct text member);

/*
 * After handler_call, whose key is the set, come the keys of cells; geo_send adds how many cells
 * the caller assumes.
 */
void geo_cell_key(struct call *c, struct text set, size_t cell);
void geo_send(struct request *req, struct call *c, call_done done);

/*
 * Members in the order of their cells, and members of one cell in the given order.
 * Keys of their cells go into the call. NULL without memory.
 */
struct geo_order {
	size_t cell, index;
};
struct geo_order *geo_group(struct request *req, struct call *c, struct text set, size_t count,
			    struct text (*member)(const void *items, size_t i), const void *items);

/* An argument where a cell begins: how many from `at` on are in the same one. */
void geo_call_group(struct call *c, const struct geo_order *order, size_t at, size_t count);

/* Where one member is: a call of geo_member_lookup. */
void geo_call_lookup(struct request *req, struct text set, struct text member, call_done done);

/*
 * A coordinate, with seven decimals: a centimetre (RFC 7946, section 11.2, thinks six enough). What
 * Redis returns beyond them is inexact: it keeps a member in a cell of half a metre.
 */
void geo_write_degrees(struct json_out *o, const char *key, double degrees);

/* Item `i` begins a geo_place: whether it is of a member, and the members of an open object. */
bool geo_is_place(const struct reply *r, size_t i);
void geo_write_place(struct json_out *o, struct text member, const struct reply *r, size_t i);

void geo_answer_no_member(struct request *req, struct text set, struct text member);

#endif
