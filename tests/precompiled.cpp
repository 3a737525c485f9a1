// The target exists for precompiled.hpp.
int main() {}
