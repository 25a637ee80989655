/*
 * fuzz: shared by the targets. A target is a separate program: LLVMFuzzerTestOneInput gets
 * arbitrary bytes, handles them as the daemon would, and uses CHECK for whatever must hold for all
 * inputs. libFuzzer (make fuzz) or replay.c (make test) drives it.
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
 * Unlike assert, it reports a failure although libFuzzer has closed stderr to suppress the daemon's
 * output.
 */
#define CHECK(condition) ((condition) ? (void)0 : fuzz_failed(#condition, __FILE__, __LINE__))

void fuzz_failed(const char *condition, const char *file, int line) __attribute__((noreturn));

/*
 * The rest of an input. Each piece is copied to a heap block of exactly its size, so that
 * AddressSanitizer finds a read beyond its end.
 */
struct input {
	const uint8_t *at;
	size_t len;
};

/*
 * Reads the next piece, up to `stop` or the end. Returns false when nothing is left. The caller
 * frees piece->at.
 */
bool input_piece(struct input *in, char stop, struct text *piece);

/* Some inputs are a list of steps. A step ends at this byte, and its first byte is its kind. */
enum { STEP_END = 0x1e };

#endif
