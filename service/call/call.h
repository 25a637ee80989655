/*
 * call: one atomic step in Redis, a script or a plain command. It must not know HTTP or patterns.
 *
 *	struct call *c = call_script(req, &lock_acquire_script);
 *	call_key(c, KEY_LOCK, in->name, NULL);
 *	call_key(c, KEY_LOCK, in->name, "fence");
 *	call_int(c, in->ttl_ms);
 *	call_send(c, on_acquired);
 *
 * Scripts are the files in lua/, embedded by the build with their SHA1; tools/embed_scripts.py
 * documents their form. A failure (no connection, no reply, LOADING, READONLY, OOM, WRONGTYPE, a
 * reused Idempotency-Key) is answered here: `done` gets only replies of the forms that the script
 * declares. A script that Redis does not know (NOSCRIPT) is sent once more, whole.
 *
 * A script that does a bounded part of its work declares by --@again a reply after which it must
 * be called again (tools/replies.py). `done` gets only the last reply. Between two calls other
 * requests are served. If the client disconnects, no further call is sent.
 *
 * For scripts marked @idempotent, call_send appends the key of the idempotency record and the
 * fingerprint if the request has an Idempotency-Key, and otherwise an empty fingerprint.
 */
#ifndef PATTERND_CALL_H
#define PATTERND_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "call/result.h"
#include "call/script.h"
#include "core/text.h"

struct request;

/*
 * Returns the name of a key, in the request's arena. The channel of a resource is made from its
 * first key.
 */
struct text call_key_name(struct request *req, const char *kind, struct text name, const char *part);

/* Starts a call, which is in the request's arena. */
struct call *call_script(struct request *req, const struct script *s);

/*
 * Starts a plain command (SCAN, for example), whose reply is one item of this form
 * (redis/reply_form.h). Both texts are static.
 */
struct call *call_command(struct request *req, const char *verb, const char *form, bool writes);

/* The form of SCAN's reply, and its items. */
#define SCAN_FORM "(t(*t))"
enum { SCAN_STEP, SCAN_KEYS };

/* Keys are added first, then arguments. The key is <prefix><kind>:{<name>}[:<part>]. */
void call_key(struct call *c, const char *kind, struct text name, const char *part);
/* call_keys adds the key without a part, and one for each part; NULL ends `parts`. */
void call_keys(struct call *c, const char *kind, struct text name, const char *const *parts);
void call_raw_key(struct call *c, struct text rest); /* <prefix><rest>, not built from parts */
/* must stay valid until the request ends; an absent text is sent as "" */
void call_text(struct call *c, struct text value);
void call_string(struct call *c, const char *value);
void call_int(struct call *c, int64_t value);
void call_real(struct call *c, double value); /* formatted with %.17g */

/* The call has no idempotency record: it only reads, so its reply must not be stored. */
void call_without_record(struct call *c);

/*
 * Adds the key of the idempotency record, for a call that changes or undoes the effect of another
 * call with the same first key. Adds nothing if the request has no record.
 */
void call_record_key(struct call *c, struct text first_key);

/*
 * The call has its own idempotency record, beside the records of the request's other calls. Its
 * reply must report what was done, and grant nothing.
 */
void call_record_part(struct call *c, struct text part);

/* If a key has another type, `done` gets NULL, and the request is not answered with the problem. */
void call_skip_foreign(struct call *c);

/*
 * If the call fails, `done` gets NULL and result->failed, perhaps within call_send, and the request
 * is not answered with the problem: the handler can compensate earlier steps. `done` is called even
 * if the client disconnects.
 */
void call_may_fail(struct call *c);
/*
 * If the call had an effect, `done` is called once that many replicas have acknowledged it, or the
 * time for that has ended. result->acked and result->replicas have the counts.
 */
void call_replicas(struct call *c, unsigned replicas);

/* Sends it to a server of --lock-quorum, counted from 1, instead of the server of --redis. */
void call_member(struct call *c, unsigned server);
unsigned call_members(void); /* number of servers */

/* Sends a call without keys to the node that serves this slot (topology_next_node). */
void call_at(struct call *c, int slot);

/* Sets result->tag, by which `done` distinguishes calls. */
void call_tag(struct call *c, size_t tag);

/*
 * Sends it. Several calls of a request may be under way; the first `done` that answers wins.
 * With NULL nothing depends on the reply: neither the answer nor on_disconnect waits for it.
 */
void call_send(struct call *c, call_done done);

#endif
