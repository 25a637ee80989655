/*
 * fuzz: what the targets share. A target is a program of its own: LLVMFuzzerTestOneInput is given
 * bytes of anybody, does with them what the daemon would, and says with CHECK what holds whatever
 * they are. It is driven by libFuzzer (make fuzz) or by replay.c (make test).
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * Unlike assert, it says what was found where libFuzzer has closed stderr to the daemon's own
 * words.
 */
#define CHECK(condition) ((condition) ? (void)0 : fuzz_failed(#condition, __FILE__, __LINE__))

void fuzz_failed(const char *condition, const char *file, int line) __attribute__((noreturn));

/*
 * What is left of an input. Pieces are copied to the heap, just as long as they are, so that a read
 * beyond an end is seen.
 */
struct input {
	const uint8_t *at;
	size_t len;
};

/*
 * The next piece, up to `stop` or the end; false when nothing is left. The caller frees piece->at.
 */
bool input_piece(struct input *in, char stop, struct text *piece);

/* Inputs that are a row of steps: a step ends at this byte, and its first byte says what it is. */
enum { STEP_END = 0x1e };

#endif
