// Every expansion.
#if defined(HOLOGRAM_EXPANSIONS_FUNCTIONS_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef HOLOGRAM_EXPANSIONS_FUNCTIONS_HPP
#undef HOLOGRAM_EXPANSIONS_FUNCTIONS_HPP
#else
#define HOLOGRAM_EXPANSIONS_FUNCTIONS_HPP
#endif

#include "program/expansions/erf.hpp"
#include "program/expansions/exp.hpp"
#include "program/expansions/hyperbolic.hpp"
#include "program/expansions/inverse_trig.hpp"
#include "program/expansions/log.hpp"
#include "program/expansions/pow.hpp"
#include "program/expansions/trig.hpp"

#endif
