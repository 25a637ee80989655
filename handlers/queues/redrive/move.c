#include "queues/redrive/move.h"

#include "queues/queue_call.h"
#include "queues/queue_content.h"

/* The bounds of one request between slots. A step moves at most PAGE letters. */
enum { LETTERS_MOST = 1000, BYTES_MOST = 4 << 20, PAGE = 100 };

static void read_page(struct request *req, struct queue_move *m);

static void end(struct request *req, struct queue_move *m, bool has_failed)
{
	m->failed = has_failed ? req->result->failed : NULL;
	m->done(req, m);
}

/* ---- Within a slot ---- */

static void on_moved(struct request *req, const struct reply *r)
{
	struct queue_move *m = req->work;

	if (r) {
		m->moved = reply_int(r, QUEUE_STEP_TOTAL);
		m->duplicates = reply_int(r, QUEUE_REDRIVE_TO_DUPLICATES);
	}
	end(req, m, !r);
}

static void move_at_once(struct request *req, const struct queue_move *m)
{
	struct call *c = queue_call(req, &queue_redrive_to_script, m->from);

	queue_call_keys(c, m->to);
	call_int(c, m->interval_ms);
	call_int(c, m->id_count ? 0 : m->limit);
	call_text(c, queue_encoded(req, m->from));
	call_string(c, m->is_setting ? "1" : "");
	for (size_t i = 0; i < m->id_count; i++)
		call_text(c, m->ids[i]);
	call_int(c, 0);
	call_string(c, "0.0");
	if (req->background)
		call_may_fail(c);
	call_send(c, on_moved);
}

/* ---- Between slots ---- */

static bool has_moved(const struct queue_move *m, size_t i)
{
	char outcome = i < m->outcomes.len ? m->outcomes.at[i] : LETTER_FULL;

	return outcome == LETTER_STORED || outcome == LETTER_STORED_BEFORE;
}

static bool has_outcome(const struct queue_move *m, char outcome)
{
	return m->outcomes.len && memchr(m->outcomes.at, outcome, m->outcomes.len);
}

/* If the client has left, what was stored was still removed here, and nothing more moves. */
static bool is_continued(struct request *req, const struct queue_move *m)
{
	return !m->is_last && !has_outcome(m, LETTER_FULL) && m->moved < m->limit &&
	       (req->background || !request_is_disconnected(req));
}

static void on_removed(struct request *req, const struct reply *r)
{
	struct queue_move *m = req->work;

	if (!r) {
		end(req, m, true);
		return;
	}
	m->moved += reply_outcome(r);
	m->is_cut = is_continued(req, m) && (m->moved + m->duplicates >= LETTERS_MOST || m->bytes >= BYTES_MOST);
	if (is_continued(req, m) && !m->is_cut)
		read_page(req, m);
	else
		end(req, m, false);
}

static void remove_page(struct request *req, struct queue_move *m)
{
	struct call *c = queue_call(req, &queue_letters_remove_script, m->from);

	call_string(c, m->is_setting && m->is_last && !m->duplicates && !has_outcome(m, LETTER_FULL) ? "1" : "");
	for (size_t i = 0; i < m->count; i++) {
		if (!has_moved(m, i))
			continue;
		call_text(c, reply_text(m->letters[i], QUEUE_LETTER_SEQUENCE));
		call_int(c, reply_int(m->letters[i], QUEUE_LETTER_DIED_AT_MS));
	}
	call_may_fail(c);
	call_send(c, on_removed);
}

static void on_stored(struct request *req, const struct reply *r)
{
	struct queue_move *m = req->work;

	if (!r) {
		end(req, m, true);
		return;
	}
	struct text outcomes = reply_text(r, QUEUE_LETTERS_STORE_OUTCOMES);
	m->outcomes = arena_copy(&req->arena, outcomes.at, outcomes.len);
	req->has_effect |= reply_outcome(r) > 0;
	for (size_t i = 0; i < m->outcomes.len; i++) {
		m->duplicates += m->outcomes.at[i] == LETTER_TAKEN;
		m->place += m->outcomes.at[i] == LETTER_TAKEN && !m->id_count;
	}
	remove_page(req, m);
}

static void store_page(struct request *req, struct queue_move *m)
{
	struct call *c = queue_call(req, &queue_letters_store_script, m->to);

	call_int(c, m->interval_ms);
	call_int(c, m->moved);
	call_text(c, queue_encoded(req, m->from));
	call_string(c, m->is_setting ? "1" : "");
	call_text(c, queue_encoded(req, m->to));
	for (size_t i = 0; i < m->count; i++) {
		call_text(c, reply_text(m->letters[i], QUEUE_LETTER_SEQUENCE));
		call_text(c, reply_text(m->letters[i], QUEUE_LETTER_CONTENT));
		call_text(c, reply_text(m->letters[i], QUEUE_LETTER_STORED_STATE));
	}
	call_may_fail(c);
	call_send(c, on_stored);
}

static void on_page(struct request *req, const struct reply *r)
{
	struct queue_move *m = req->work;

	if (!r) {
		end(req, m, true);
		return;
	}
	const struct reply **letters = arena_alloc(&req->arena, r->count * sizeof(struct reply *));
	m->letters = letters;
	m->outcomes = (struct text){ 0 };
	m->is_last = reply_int(r, QUEUE_LETTERS_READ_IS_LAST) == 1;
	m->place = reply_int(r, QUEUE_LETTERS_READ_NEXT);
	m->count = 0;
	for (size_t i = QUEUE_LETTERS_READ_LETTERS; letters && i < r->count; i++) {
		const struct reply *kept = reply_keep(&req->arena, reply_item(r, i));
		if (!kept)
			break; /* the next call fails, since memory ran out */
		m->bytes += reply_text(kept, QUEUE_LETTER_CONTENT).len;
		letters[m->count++] = kept;
	}
	if (m->count || req->arena.failed)
		store_page(req, m);
	else
		end(req, m, false);
}

static void read_page(struct request *req, struct queue_move *m)
{
	struct call *c = queue_call(req, &queue_letters_read_script, m->from);
	int64_t left = m->limit - m->moved;

	call_int(c, m->id_count || left > PAGE ? PAGE : left);
	for (size_t i = 0; i < m->id_count; i++)
		call_text(c, m->ids[i]);
	call_int(c, m->place);
	call_may_fail(c);
	call_send(c, on_page);
}

void queue_move_begin(struct request *req, struct queue_move *m)
{
	req->work = m;
	if (slots_are_one(m->from, m->to))
		move_at_once(req, m);
	else
		read_page(req, m);
}
