/* Runs commands at the same time, each a word for sh: together COMMAND... Their clocks begin when the last one of them is ready (work.h),
 * or has ended. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void pipes(int ends[2], int kept)
{
	if (pipe(ends) < 0 || fcntl(ends[kept], F_SETFD, FD_CLOEXEC) < 0) {
		perror("pipe");
		exit(1);
	}
}

static void run(const char *command)
{
	char line[strlen(command) + sizeof "exec "];
	pid_t child = fork();

	if (child < 0) {
		perror("fork");
		exit(1);
	}
	if (child > 0)
		return;
	sprintf(line, "exec %s", command);
	execl("/bin/sh", "sh", "-c", line, (char *)0);
	perror("sh");
	_exit(127);
}

int main(int count, char **values)
{
	int ready[2], go[2], status, failed = 0;
	char gate[32], none;

	pipes(ready, 0);
	pipes(go, 1);
	snprintf(gate, sizeof gate, "%d %d", ready[1], go[0]);
	setenv("GATE", gate, 1);
	/* Threads of OpenMP that spin would hold the emulator's lock, and the guest's timers with it. */
	setenv("OMP_WAIT_POLICY", "passive", 1);
	for (int i = 1; i < count; i++)
		run(values[i]);
	close(ready[1]);
	close(go[0]);
	/* Nothing is written: it ends when the last one has closed it. */
	if (read(ready[0], &none, 1) < 0)
		perror("ready");
	close(go[1]);
	while (wait(&status) > 0)
		failed |= status;
	return !!failed;
}
