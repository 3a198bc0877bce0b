// Every option can be set, and what is refused is an exception that says why.
#include <iostream>

#include "evenkeel.hpp"

int main() {
    evenkeel::options wanted;
    wanted.threads = 2;
    wanted.name = "options";
    wanted.techniques = "psm";
    wanted.turns = false;
    try {
        const evenkeel::pool refused(wanted);
    } catch (const evenkeel::error &e) {
        std::cout << "refused: " << e.what() << "\n";
    }
    wanted.techniques = "base+psm";
    std::cout << evenkeel::pool(wanted).threads() << " threads\n";
}
