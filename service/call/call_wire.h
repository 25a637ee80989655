/*
 * call_wire: sends an assembled call to Redis, and passes its reply to the handler. For call.c. It
 * must not know patterns.
 */
#ifndef PATTERND_CALL_WIRE_H
#define PATTERND_CALL_WIRE_H

struct call;

/* Sends it. If that fails, the request is answered, unless the call may fail. */
void call_wire_send(struct call *c);

#endif
