/*
 * fuzz: what the targets share. A target is a separate program: LLVMFuzzerTestOneInput gets
 * arbitrary bytes, does with them what the daemon would, and checks with CHECK what holds for all
 * inputs. It is driven by libFuzzer (make fuzz) or by replay.c (make test).
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
 * Unlike assert, it reports the failure although libFuzzer has closed stderr, against the daemon's
 * own output.
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

/* Inputs that are a row of steps: a step ends at this byte, and its first byte is its kind. */
enum { STEP_END = 0x1e };

#endif
