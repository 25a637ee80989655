/*
 * handler: everything a handler includes, besides kinds.h.
 *
 * To add an endpoint:
 *   1. openapi.yaml: the path with its operationId, inputs with their ranges, answers, problems, an example, and what a token must
 *      be allowed for it (x-scope);
 *   2. lua/<operation>.lua: the atomic step, its contract as a comment first;
 *   3. handlers/<resource>.c: void <operationId>(struct request *req, const struct <operationId>_input *in), which makes the call
 *      and answers in its `done`: input -> one script -> reply;
 *   4. tests/api/test_<resource>.c: what it promises, over HTTP, on a real Redis.
 * An operation without a handler does not link, a handler without an operation does not compile, and the tests fail when an
 * operation, an answer or a problem of the contract was never seen.
 */
#ifndef PATTERND_HANDLER_H
#define PATTERND_HANDLER_H

#include "call/list.h"
#include "call/match.h"
#include "call/script.h"
#include "call/slots.h"
#include "core/loop.h"
#include "operations.h"
#include "process/config.h"
#include "request/answer.h"
#include "request/etag.h"
#include "request/request.h"
#include "request/stream.h"
#include "scripts.h"
#include "wait/channel.h"
#include "wait/wait.h"
#include "json/json_tree.h"

#endif
