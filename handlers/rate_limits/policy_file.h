/* policy_file: the policies of --policies. */
#ifndef PATTERND_POLICY_FILE_H
#define PATTERND_POLICY_FILE_H

#include <stdbool.h>

/* Reads the file. False: stderr names the fault and its place. */
bool policy_file_load(void);

#endif
