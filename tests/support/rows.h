/*
 * rows: the answers to the rows of a table test, by which `make verify` compares two sets of
 * libraries; and what was counted.
 *
 * One line each, "<row>\t<answer>", in the file that the variable PATTERND_ROWS names (nothing
 * without it), which a program's first row empties. The answer is "400 malformed_request" for a
 * problem, "400 page" for what libmicrohttpd answers by itself, else its status; "closed" when none
 * came.
 */
#ifndef TEST_ROWS_H
#define TEST_ROWS_H

#include "http.h"

void rows_record(const char *row, struct answer a);

/* A figure that a test has counted, in the same file: "<what>\t<figure>". */
void rows_figure(const char *what, long long figure);

#endif
