// The shared case in SimGrid (S4U): 64 actors share a semaphore of capacity 4.
//
// Each acquires it, holds it for 1 ms, and releases it, so many times. SimGrid does not count its events; counted here
// are the two at which simulated time can pass for an actor: a grant and the end of a burst.

#include <chrono>
#include <cstdio>
#include <simgrid/s4u.hpp>

namespace sg4 = simgrid::s4u;

static const int threads = 64;
static const int bursts = 2000;

int main(int argc, char** argv) {
    sg4::Engine engine(&argc, argv);
    auto* zone = sg4::create_full_zone("zone");
    auto* host = zone->create_host("host", "1Gf")->set_core_count(4)->seal();
    zone->seal();
    auto cores = sg4::Semaphore::create(4);
    for (int i = 0; i < threads; i++) {
        sg4::Actor::create("thread" + std::to_string(i), host, [cores] {
            for (int burst = 0; burst < bursts; burst++) {
                cores->acquire();
                sg4::this_actor::sleep_for(0.001);
                cores->release();
            }
        });
    }
    const auto begin = std::chrono::steady_clock::now();
    engine.run();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    std::printf("{\"events\":%d,\"bursts\":%d,\"seconds\":%f}\n", 2 * threads * bursts, threads * bursts, seconds.count());
}
