/*
 * config_file: reads the lines of the file of --config. It must not know options.
 */
#ifndef PATTERND_CONFIG_FILE_H
#define PATTERND_CONFIG_FILE_H

#include <stdbool.h>

/*
 * Calls `take` for each line, which it may change; `take` returns false for a faulty one. Returns
 * false if any line was faulty, or the file cannot be read, after a line on stderr for each fault.
 */
bool config_file_read(const char *path, bool (*take)(char *line, const char *path, int number));

#endif
