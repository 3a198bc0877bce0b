/* Messages between processes, as hackbench sends them: in each of two groups every sender writes to every receiver, through a
 * socket for each receiver. As many senders and receivers in a group as there are cores. */
#include "work.h"
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define GROUPS 2
#define BYTES 100
/* A message costs about as much as so many steps, in an emulator. */
#define STEPS 20000L

static char message[BYTES];

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void receive(int from, long bytes)
{
	while (bytes > 0) {
		ssize_t received = read(from, message, BYTES);

		if (received <= 0)
			fail("read");
		bytes -= received;
	}
}

static void transmit(const int *to, long rounds)
{
	for (long round = 0; round < rounds; round++) {
		for (int i = 0; i < threads; i++) {
			for (ssize_t sent = 0; sent < BYTES;) {
				ssize_t more = write(to[i], message + sent, BYTES - sent);

				if (more <= 0)
					fail("write");
				sent += more;
			}
		}
	}
}

/* Whether this is the new process. */
static int forked(void)
{
	pid_t child = fork();

	if (child < 0)
		fail("fork");
	return child == 0;
}

static void group(long rounds)
{
	int to[threads];

	for (int i = 0; i < threads; i++) {
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
			fail("socketpair");
		to[i] = ends[0];
		if (forked()) {
			receive(ends[1], threads * rounds * BYTES);
			_exit(0);
		}
		close(ends[1]);
	}
	for (int i = 0; i < threads; i++) {
		if (forked()) {
			transmit(to, rounds);
			_exit(0);
		}
	}
	for (int i = 0; i < threads; i++)
		close(to[i]);
}

int main(int count, char **values)
{
	int failed = 0, status;

	arguments(count, values);
	long rounds = steps / STEPS / GROUPS / threads / threads;

	for (int i = 0; i < GROUPS; i++)
		group(rounds > 0 ? rounds : 1);
	while (wait(&status) > 0)
		failed |= status;
	if (failed)
		return 1;
	report("messages");
}
