/*
 * What the clock and the timers of a host add to every time that is measured on it: the clock's smallest step, what it
 * costs to read it, and how much later than asked for a sleep of a millisecond ends (median and worst of 200).
 */
#include "probe.h"

#define READINGS 1000000
#define SLEEPS 200
#define NAP 1e-3 /* seconds: as long as the shortest pause that the tools make */

static int by_size(const void *one, const void *other)
{
    double left = *(const double *)one, right = *(const double *)other;
    return (left > right) - (left < right);
}

static void readings(void)
{
    double began = now(), before = began, step = 0, after = began;
    for (int reading = 0; reading < READINGS; reading++) {
        after = now();
        if (after > before && (step == 0 || after - before < step))
            step = after - before;
        before = after;
    }
    if (step > 0)
        printf("result clock_resolution %.9f\n", step);
    printf("result clock_cost %.12f\n", (after - began) / READINGS);
}

static void sleeps(void)
{
    double late[SLEEPS];
    for (int nap = 0; nap < SLEEPS; nap++) {
        double until = now() + NAP;
        sleep_until(until);
        late[nap] = now() - until;
    }
    qsort(late, SLEEPS, sizeof late[0], by_size);
    printf("result sleep_late %.9f\n", late[SLEEPS / 2]);
    printf("result sleep_late_worst %.9f\n", late[SLEEPS - 1]);
}

int main(int count, char **words)
{
    introduce("clock", 1);
    if (count > 1)
        fail(2, "%s is no option", words[1]);
    readings();
    sleeps();
    puts("done");
    return 0;
}
