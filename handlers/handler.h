/*
 * handler: everything a handler includes, besides kinds.h. To add one: CONTRIBUTING.md.
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
