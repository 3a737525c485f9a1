// What only the module with one thread has. Objects that are compiled for threads find thread-local
// variables by their distance from __tls_base. Without shared memory wasm-ld 14 gives whole
// addresses for distances, and the beginning of the variables as the base, unless there is one
// already: 0.
__asm__(
    ".globaltype __tls_base, i32\n"
    ".globl __tls_base\n"
    "__tls_base:\n");
