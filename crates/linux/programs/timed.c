/* Runs a program that is not compiled here, and says how long it took, or how it failed: NAME BYTES FILE COMMAND... The command reads so many
 * bytes from memory, copied from the file before, again from its start where it is shorter. What it writes goes nowhere. */
#include "work.h"
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* The core that the first thread of an ended process was on last, or -1 (proc_pid_stat(5), "processor"). Where it began is known only
 * after exec, which chooses a core anew; a kernel that takes all cores for equal leaves a thread that is alone where it is. */
static int last_core(pid_t process)
{
	char path[32], line[1024];
	int core = -1;

	snprintf(path, sizeof path, "/proc/%d/stat", process);
	FILE *file = fopen(path, "r");
	char *field = file && fgets(line, sizeof line, file) ? strrchr(line, ')') : 0;

	/* It is field 39, and after the name, which is the second, there is a blank before each. */
	for (int blank = 0; field && blank < 37; blank++)
		field = strchr(field + 1, ' ');
	if (field)
		core = atoi(field + 1);
	if (file)
		fclose(file);
	return core;
}

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
	siginfo_t ended;

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
	if (child < 0 || waitid(P_PID, child, &ended, WEXITED | WNOWAIT) < 0)
		return 1;
	double end = seconds();

	began_on = last_core(child);
	if (waitpid(child, &status, 0) < 0)
		return 1;
	if (status) {
		/* As shells have it. */
		printf("%s.status %d\n", values[1], WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
		return 1;
	}
	report_ended(values[1], end);
}
