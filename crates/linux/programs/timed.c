/* Runs a program that is installed, and says how long it took: NAME BYTES FILE COMMAND... The command reads so many bytes from
 * memory, copied from the file before, again from its start where it is shorter. What it writes goes nowhere. */
#include "work.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int filled(long bytes, const char *name)
{
	static char buffer[1 << 16];
	int from = open(name, O_RDONLY), to = memfd_create("input", 0);

	if (from < 0 || to < 0)
		return -1;
	while (bytes > 0) {
		ssize_t more = read(from, buffer, bytes < (long)sizeof buffer ? (size_t)bytes : sizeof buffer);

		if (more == 0 && lseek(from, 0, SEEK_CUR) > 0 && lseek(from, 0, SEEK_SET) == 0)
			continue;
		if (more <= 0 || write(to, buffer, more) != more)
			return -1;
		bytes -= more;
	}
	return lseek(to, 0, SEEK_SET) == 0 ? to : -1;
}

int main(int count, char **values)
{
	int status = 1;

	if (count < 5) {
		fprintf(stderr, "usage: %s NAME BYTES FILE COMMAND...\n", values[0]);
		return 2;
	}
	int input = filled(atol(values[2]), values[3]);

	if (input < 0) {
		perror(values[3]);
		return 1;
	}
	begin();
	pid_t child = fork();

	if (child == 0) {
		dup2(input, 0);
		dup2(open("/dev/null", O_WRONLY), 1);
		execvp(values[4], values + 4);
		perror(values[4]);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0 || status)
		return 1;
	report(values[1]);
}
