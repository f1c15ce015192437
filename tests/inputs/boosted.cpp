// Collectives of Boost.MPI on objects, which it sends as archives.
#include <boost/mpi.hpp>
#include <boost/serialization/string.hpp>
#include <boost/serialization/vector.hpp>
#include <functional>
#include <iostream>
namespace mpi = boost::mpi;

int main()
{
    mpi::environment environment;
    mpi::communicator world;
    std::vector<std::string> words;
    for (int i = 0; i < 10; i++) {
        std::string word(i + world.rank(), 'a' + world.rank());
        mpi::all_gather(world, word, words);
        mpi::broadcast(world, word, i % world.size());
        word = mpi::all_reduce(world, word, std::plus<std::string>());
        std::vector<std::string> others;
        mpi::all_to_all(world, words, others);
        std::vector<int> numbers;
        mpi::gather(world, i, numbers, 0);
        int own = 0;
        mpi::scatter(world, numbers, own, 0);
        int sum = mpi::scan(world, own, std::plus<int>());
        int most = 0;
        mpi::reduce(world, sum, most, mpi::maximum<int>(), world.size() - 1);
        mpi::communicator half = world.split(world.rank() % 2);
        half.barrier();
        if (world.rank() == 0 && i == 9)
            std::cout << word << " " << others.back() << std::endl;
    }
    mpi::communicator side = world.split(world.rank() == 0);
    mpi::intercommunicator other(side, 0, world, world.rank() == 0 ? 1 : 0);
    other.merge(world.rank() == 0).barrier();
    return 0;
}
