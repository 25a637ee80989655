/*
 * call_wire: the way of an assembled call to Redis, and of its reply to the handler. For script.c.
 */
#ifndef PATTERND_CALL_WIRE_H
#define PATTERND_CALL_WIRE_H

struct call;

/* Sends it; a failure to is answered, unless the call may fail. */
void call_wire_send(struct call *c);

#endif
