/* board_call: see leaderboards/board_call.h. */
#include "leaderboards/board_call.h"

#include "common/kinds.h"

struct board_dimensions board_dimensions_of(struct text lines)
{
	struct board_dimensions d = { 0 };

	while (lines.len && d.count < DIMENSIONS_MAX)
		d.names[d.count++] = text_cut(&lines, '\n');
	return d;
}

struct text board_dimensions_text(struct request *req, struct text lines)
{
	struct board_dimensions d = board_dimensions_of(lines);
	struct text parts[2 * DIMENSIONS_MAX];
	size_t n = 0;

	for (size_t i = 0; i < d.count; i++) {
		if (i)
			parts[n++] = TEXT(", ");
		parts[n++] = d.names[i];
	}
	return arena_join(&req->arena, parts, n);
}

void board_call_keys(struct call *c, struct text board)
{
	call_key(c, KEY_BOARD, board, NULL);
	call_key(c, KEY_BOARD, board, "places");
	call_key(c, KEY_BOARD, board, "ranks");
}

void board_out(struct json_out *o, struct text name, const struct reply *r)
{
	struct board_dimensions d = board_dimensions_of(reply_text(r, LEADERBOARD_DIMENSIONS));

	out_text(o, "name", name);
	out_array(o, "dimensions");
	for (size_t i = 0; i < d.count; i++)
		out_text(o, NULL, d.names[i]);
	out_close(o);
	out_int(o, "size", reply_int(r, LEADERBOARD_SIZE));
	handler_out_expiry(o, r, LEADERBOARD_EXPIRES_AT_MS);
}
