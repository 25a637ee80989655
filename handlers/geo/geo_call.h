/*
 * geo_call: what the files of geo share: calls for sets, which are split into cells
 * (lua/geo/lib_geo_cells.lua).
 *
 *	void geo_member_put(req, in) { if (!geo_begin(req)) return; ...; geo_send(req, c, on_put); }
 *	static void on_put(req, r) { if (geo_is_again(req, r)) return; ... }
 *
 * Only Redis knows the number of a set's cells. So a request first assumes the number of a set
 * without settings. If that is wrong, the script returns the right number, and the request starts
 * again.
 */
#ifndef PATTERND_GEO_CALL_H
#define PATTERND_GEO_CALL_H

#include "common/handler.h"
#include "common/key_kinds.h"

/* Cells of a set without settings: the contract's default, also in lua/geo/lib_geo_default.lua. */
enum { GEO_DEFAULT_CELLS = 1 };

/* Indexed by the contract's enum. */
extern const char *const geo_units[];

/* The state of a request, in its arena, as req->work. */
struct geo_work {
	int64_t cells; /* as far as is known */
	unsigned repeats;
	void (*again)(struct request *req); /* starts again; NULL: the operation itself does */
	void *more;                         /* owned by the operation */
};

/* Call it first in an operation, also when that starts again. False: the request was answered. */
bool geo_begin(struct request *req);

/* Call it first in a `done`. Returns true if the request starts again, or was answered. */
bool geo_is_again(struct request *req, const struct reply *r);

/*
 * Adds two arguments: the position, in a form that Redis can store and find. A longitude of 180
 * becomes -180, and the northern bound becomes a little lower.
 */
void geo_call_position(struct call *c, double longitude, double latitude);

/* Returns the cell of a member. */
size_t geo_cell_of(struct request *req, struct text member);

/*
 * Call geo_cell_key after handler_call, whose key is the set. geo_send adds the number of cells
 * that the request assumes, and sends.
 */
void geo_cell_key(struct call *c, struct text set, size_t cell);
void geo_send(struct request *req, struct call *c, call_done done);

/*
 * Sorts members by their cells, and within a cell in the given order. Adds the keys of the cells to
 * the call. NULL: memory ran out.
 */
struct geo_order {
	size_t cell, index;
};
struct geo_order *geo_group(struct request *req, struct call *c, struct text set, size_t count,
			    struct text (*member)(const void *items, size_t i), const void *items);

/* Adds an argument where a cell begins: how many members from `at` on are in the same cell. */
void geo_call_group(struct call *c, const struct geo_order *order, size_t at, size_t count);

/* Sends a call of geo_member_lookup for one member. */
void geo_call_lookup(struct request *req, struct text set, struct text member, call_done done);

/*
 * Writes a coordinate with seven decimals, which is a centimetre (RFC 7946, section 11.2,
 * recommends six). Redis's further digits are inexact, since it stores a member in a square of half
 * a metre.
 */
void geo_write_degrees(struct json_out *o, const char *key, double degrees);

/*
 * A geo_place begins at item `i`. geo_is_place returns whether it has a member; geo_write_place
 * writes its members into an open object.
 */
bool geo_is_place(const struct reply *r, size_t i);
void geo_write_place(struct json_out *o, struct text member, const struct reply *r, size_t i);

void geo_answer_no_member(struct request *req, struct text set, struct text member);

#endif
