// What must not be done: an exception that leaves a function of the C interface.
#include "evenkeel.h"

int main() {
    const auto thrower = [](void *) { throw 1; };
    const auto good = [](void *) {};
    ek_join(good, nullptr, thrower, nullptr);
}
