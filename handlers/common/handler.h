/*
 * handler: what every handler includes, besides key_kinds.h, and what several patterns share. It
 * must not know any single pattern. CONTRIBUTING.md explains how to add a handler.
 */
#ifndef PATTERND_HANDLER_H
#define PATTERND_HANDLER_H

#include "call/call.h"
#include "call/call_problem.h"
#include "call/list.h"
#include "call/match.h"
#include "call/slots.h"
#include "core/day.h"
#include "core/hex.h"
#include "core/loop.h"
#include "operations.h"
#include "process/config.h"
#include "request/answer.h"
#include "request/etag.h"
#include "request/request.h"
#include "request/seal.h"
#include "request/stream.h"
#include "scripts.h"
#include "wait/channel.h"
#include "wait/wait.h"
#include "json/tree.h"

enum { HANDLER_SECRET_DIGITS = 32 };

/* Starts a call whose first key is the key of the named resource. */
struct call *handler_call(struct request *req, const struct script *s, const char *kind, struct text name);
/* Adds an optional argument; an absent one is sent as "". */
void handler_call_optional(struct call *c, bool has, int64_t value);
/*
 * handler_call_ttl adds `ttl_ms` of a body for lua/lib/expiry.lua: null (`reset`) is sent as
 * "null", an absent one as "". handler_patch_ttl also sends the call, of a PATCH that has no other
 * field. handler_out_expiry writes item `i` of the reply as `expires_at_ms`.
 */
void handler_call_ttl(struct call *c, bool has, bool reset, int64_t ttl_ms);
void handler_patch_ttl(struct call *c, bool has, bool reset, int64_t ttl_ms, call_done done);
void handler_out_expiry(struct json_out *o, const struct reply *r, size_t i);

/*
 * handler_random returns up to HANDLER_SECRET_DIGITS random hex digits, in the request's arena.
 * handler_secret_hash returns what Redis stores in place of a secret: 128 bits of its SHA-256.
 */
struct text handler_random(struct request *req, size_t digits);
struct text handler_secret_hash(struct request *req, struct text secret);
/* Returns a random number from 0 to `most`, each with the same probability. */
int64_t handler_random_up_to(int64_t most);

/* Returns the slots of a target and its sources. NULL: the request was answered. */
const struct slots *handler_slots(struct request *req, struct text target, const struct text *sources, size_t count);

/* Answers 204 when the outcome is above 0. Otherwise returns false and answers nothing. */
bool handler_removed(struct request *req, const struct reply *r);
/* Answers 404. `kind` is the noun in the problem's detail, such as "queue". */
void handler_answer_missing(struct request *req, const char *kind, struct text name);
void handler_answer_cursor(struct request *req);

/*
 * Reads a cursor that is a number from 1 to 2^53 - 1, such as an offset or a hash; an absent cursor
 * is 0. If it is not such a number, answers 400 and returns false.
 */
bool handler_cursor(struct request *req, struct text cursor, int64_t *at);
void handler_out_cursor(struct json_out *o, bool has, int64_t at);

/* Reads a day. If it is invalid, answers 400 and returns false. */
bool handler_day(struct request *req, struct text given, const char *pointer, int64_t *day);
void handler_out_day(struct json_out *o, const char *key, int64_t day);

#endif
