/*
 * workers: see workers.h. A note and the list are one script each (lua/queues/workers/).
 */
#include "queues/workers.h"

#include "common/key_kinds.h"
#include "queues/queue_call.h"
#include "queues/queue_content.h"

/*
 * When this daemon last noted a worker of a queue, by a hash of both. Workers of one hash share the
 * WAYS places of its row. If all of these were taken within a second, the worker is not noted.
 */
enum { NOTE_US = 1000000, ROWS = 512, WAYS = 4 };
static struct noted {
	uint64_t hash;
	int64_t at_us; /* 0: never */
} noted[ROWS][WAYS];

/* FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv/ */
static uint64_t hash_of(uint64_t hash, struct text t)
{
	for (size_t i = 0; i < t.len; i++)
		hash = (hash ^ (unsigned char)t.at[i]) * 0x100000001b3;
	return hash;
}

/* Takes the place of this worker, or the one that was unused for longest. */
static bool is_due(struct text queue, struct text worker)
{
	uint64_t hash = hash_of(hash_of(0xcbf29ce484222325, worker) ^ worker.len, queue);
	struct noted *row = noted[hash % ROWS], *place = row;
	int64_t now_us = loop_now_us();

	for (size_t i = 0; i < WAYS; i++) {
		if (row[i].hash == hash) {
			place = &row[i];
			break;
		}
		if (row[i].at_us < place->at_us)
			place = &row[i];
	}
	if (place->at_us && now_us - place->at_us < NOTE_US)
		return false;
	*place = (struct noted){ hash, now_us };
	return true;
}

void queue_worker_note(struct request *req, struct text queue, struct text worker)
{
	if (!is_due(queue, worker))
		return;
	struct call *c = call_script(req, &queue_worker_seen_script);
	call_key(c, KEY_QUEUE, queue, "workers");
	call_text(c, worker);
	call_may_fail(c);
	call_send(c, NULL);
}

/* ---- GET /queues/{name}/workers ---- */

static void out_worker(struct json_out *o, const struct reply *r)
{
	int64_t first_ms = reply_int(r, QUEUE_WORKER_FIRST_RECEIVE_AT_MS);
	int64_t last_ms = reply_int(r, QUEUE_WORKER_LAST_RECEIVE_AT_MS);
	int64_t oldest_ms = reply_int(r, QUEUE_WORKER_OLDEST_RECEIVED_AT_MS);

	out_object(o, NULL);
	queue_worker_out(o, reply_text(r, QUEUE_WORKER_WORKER));
	out_int_or_null(o, "first_receive_at_ms", first_ms >= 0, first_ms);
	out_int_or_null(o, "last_receive_at_ms", last_ms >= 0, last_ms);
	out_int(o, "in_flight", reply_int(r, QUEUE_WORKER_IN_FLIGHT));
	out_int_or_null(o, "oldest_received_at_ms", oldest_ms >= 0, oldest_ms);
	out_close(o);
}

static void on_workers(struct request *req, const struct reply *r)
{
	const struct queue_worker_list_input *in = req->input;
	struct json_out *o = answer_begin(req, 200);

	out_text(o, "name", in->name);
	out_bool(o, "is_complete", reply_int(r, QUEUE_WORKER_LIST_IS_COMPLETE) == 1);
	out_array(o, "workers");
	for (size_t i = QUEUE_WORKER_LIST_WORKERS; i < r->count; i++)
		out_worker(o, reply_item(r, i));
	out_close(o);
	answer_end(req);
}

void queue_worker_list(struct request *req, const struct queue_worker_list_input *in)
{
	struct call *c = queue_call(req, &queue_worker_list_script, in->name);

	call_key(c, KEY_QUEUE, in->name, "workers");
	call_send(c, on_workers);
}
