/*
 * rows: records the answers to the rows of table tests, and figures that tests count. `make verify`
 * compares two sets of libraries by them.
 *
 * Each row is a line "<row>\t<answer>" in the file that PATTERND_ROWS names. Without that variable
 * nothing is recorded. A program's first row empties the file. The answer is the status and code of
 * a problem ("400 malformed_request"), "400 page" for an answer by libmicrohttpd itself, "closed"
 * without an answer, and otherwise the status.
 */
#ifndef TEST_ROWS_H
#define TEST_ROWS_H

#include "http.h"

void rows_record(const char *row, struct answer a);

/* Records a figure that a test has counted in the same file: "<what>\t<figure>". */
void rows_figure(const char *what, long long figure);

#endif
