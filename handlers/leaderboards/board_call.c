/* leaderboard_call: see leaderboards/board_call.h. */
#include "leaderboards/board_call.h"

#include "kinds.h"

struct dimensions dimensions_of(struct text lines)
{
	struct dimensions d = { 0 };

	while (lines.len && d.count < DIMENSIONS_MAX)
		d.names[d.count++] = text_cut(&lines, '\n');
	return d;
}

struct text dimensions_told(struct request *req, struct text lines)
{
	struct dimensions d = dimensions_of(lines);
	struct text parts[2 * DIMENSIONS_MAX];
	size_t n = 0;

	for (size_t i = 0; i < d.count; i++) {
		if (i)
			parts[n++] = TEXT(", ");
		parts[n++] = d.names[i];
	}
	return arena_join(&req->arena, parts, n);
}

void leaderboard_keys(struct call *c, struct text board)
{
	call_key(c, KEY_BOARD, board, NULL);
	call_key(c, KEY_BOARD, board, "places");
	call_key(c, KEY_BOARD, board, "ranks");
}

void leaderboard_write(struct json_out *o, struct text board, struct text dimensions, int64_t size)
{
	struct dimensions d = dimensions_of(dimensions);

	out_text(o, "board", board);
	out_array(o, "dimensions");
	for (size_t i = 0; i < d.count; i++)
		out_text(o, NULL, d.names[i]);
	out_close(o);
	out_int(o, "size", size);
}

void answer_no_board(struct request *req, struct text board)
{
	answer_problem(req, P_NOT_FOUND, "there is no board '%s'", board.at);
}
