/*
 * input: from names, query, headers and JSON to the typed struct that a handler gets.
 *
 * The field descriptors are generated from openapi/; one function fills any of the structs.
 * What does not fit (unknown, missing, wrong type, out of range, not UTF-8) is answered with a
 * problem that points at each field, and no handler runs.
 */
#ifndef PATTERND_INPUT_H
#define PATTERND_INPUT_H

struct request;

/*
 * Fills the input struct of req's operation. Returns it (owned by the request's arena), or NULL
 * when the request has been answered with what is wrong.
 */
const void *input_fill(struct request *req);

#endif
