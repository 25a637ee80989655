/*
 * input: makes the typed struct for a handler from names, query, headers and JSON. It must not know
 * operations.
 *
 * The field descriptors are generated from openapi/; one function fills all of the structs. An
 * input with a fault (unknown, missing, wrong type, out of range, not UTF-8) is answered with a
 * problem that points at each field, and no handler runs.
 */
#ifndef PATTERND_INPUT_H
#define PATTERND_INPUT_H

struct request;

/*
 * Fills the input struct for req's operation. Returns it (in the request's arena), or NULL if the
 * request was answered.
 */
const void *input_fill(struct request *req);

#endif
