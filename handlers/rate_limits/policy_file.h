/* policy_file: reads and checks the policies of --policies FILE. */
#ifndef PATTERND_POLICY_FILE_H
#define PATTERND_POLICY_FILE_H

#include <stdbool.h>

/* Reads the file. Returns false if it has a fault; stderr has its place. */
bool policy_file_load(void);

#endif
