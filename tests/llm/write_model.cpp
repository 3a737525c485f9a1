// write_model FILE: the made-up model that server.py asks.
#include "llm/made_models.hpp"

int main(int argc, char** argv) {
  if (argc == 2) hologram::tests::ModelMaker(hologram::tests::kModels[0]).save(argv[1]);
  return argc == 2 ? 0 : 64;
}
