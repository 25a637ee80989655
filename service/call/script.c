#include "call/script.h"

#include <stdlib.h>
#include <string.h>

#define IN_SCRIPT "user_script:"

struct script_place script_place(const struct script_text *text, const char *message)
{
	const char *at = strstr(message, IN_SCRIPT);
	const struct script_line *from = text->lines;

	if (!at)
		return (struct script_place){ 0 };
	long line = strtol(at + strlen(IN_SCRIPT), NULL, 10);
	while (from[1].line && from[1].line <= line)
		from++;
	return (struct script_place){ script_files[from->file], from->line_in_file + line - from->line };
}
