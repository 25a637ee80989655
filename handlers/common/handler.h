/*
 * handler: everything a handler includes, besides kinds.h, and what several patterns share. To add
 * one: CONTRIBUTING.md.
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

/* Starts a call whose first key is the resource's. */
struct call *handler_call(struct request *req, const struct script *s, const char *kind, struct text name);
/* An argument that may be absent, which is "". */
void handler_call_optional(struct call *c, bool has, int64_t value);
/*
 * `ttl_ms` of a body, for lua/lib/expiry.lua: null (reset) is "null"; absent is "". And item `i` of
 * its reply as `expires_at_ms`.
 */
void handler_call_ttl(struct call *c, bool has, bool reset, int64_t ttl_ms);
void handler_out_expiry(struct json_out *o, const struct reply *r, size_t i);

/*
 * At most HANDLER_SECRET_DIGITS random hex digits, in the request's arena; and what Redis keeps of
 * a secret: 128 bits of its SHA-256.
 */
struct text handler_random(struct request *req, size_t digits);
struct text handler_secret_hash(struct request *req, struct text secret);
/* From 0 to `most`, one as likely as the other. */
int64_t handler_random_up_to(int64_t most);

/* The slots of a target and its sources. NULL: it was answered. */
const struct slots *handler_slots(struct request *req, struct text target, const struct text *sources, size_t count);

/* Answers 204 when the outcome is above 0. False: it is not, and nothing was answered. */
bool handler_removed(struct request *req, const struct reply *r);
/* 404: there is no such thing; `kind` is a noun for people. */
void handler_answer_missing(struct request *req, const char *kind, struct text name);
/* Sends a call that removes it, and answers one or the other. */
void handler_delete(struct request *req, struct call *c, const char *kind, struct text name);
void handler_answer_cursor(struct request *req);

/*
 * A cursor that is a number of 1 to 2^53 - 1: an offset, a hash. It is 0 when absent. Returns
 * false, after an answer, if it is not such a number.
 */
bool handler_cursor(struct request *req, struct text cursor, int64_t *at);
void handler_out_cursor(struct json_out *o, bool has, int64_t at);

/* False: the day is invalid, which was answered. */
bool handler_day(struct request *req, struct text given, const char *pointer, int64_t *day);
void handler_out_day(struct json_out *o, const char *key, int64_t day);

#endif
