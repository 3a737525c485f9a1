// The kernels of one instruction set, over its `Machine`. Included once for each, in a namespace of
// its own behind codes-inl.hpp and the machine, so it has no guard. A machine has
//   Word, Real           a vector of words, of f32; kLanes of them
//   kColumns             columns at a time, as many as registers hold sums of
//   kSigned              what signed codes are more, as put_signed multiplies them
// and functions of these that are those of codes-inl.hpp, of one vector.

// kVectors vectors of rows by kColumns columns.
template <int kVectors, int kColumns>
class Rows {
 public:
  struct Bits {
    Machine::Word v[kVectors];
  };
  struct Real {
    Machine::Real v[kVectors];
  };

  HOLOGRAM_LANES Rows(const uint32_t* words, const uint32_t* const* x) : w_(words) {
    HOLOGRAM_UNROLL
    for (int c = 0; c < kColumns; c++) {
      x_[c] = x[c];
      HOLOGRAM_UNROLL
      for (int v = 0; v < kVectors; v++) {
        y_[c].v[v] = Machine::zero();
        sum_[c].v[v] = Machine::no_bits();
      }
    }
  }
  HOLOGRAM_LANES void next(int64_t words, int64_t x_words) {
    w_ += words;
    HOLOGRAM_UNROLL
    for (int c = 0; c < kColumns; c++) x_[c] += x_words;
  }
  // Sets the numbers of a part, or adds them.
  HOLOGRAM_LANES void store(float* y, int64_t step, bool add) {
    HOLOGRAM_UNROLL
    for (int c = 0; c < kColumns; c++) HOLOGRAM_UNROLL
    for (int v = 0; v < kVectors; v++) {
      float* const to = y + c * step + v * Machine::kLanes;
      Machine::store(to, add ? Machine::sum(Machine::load(to), y_[c].v[v]) : y_[c].v[v]);
      y_[c].v[v] = Machine::zero();
    }
  }

#define HOLOGRAM_EACH(Result, expression)                           \
  Result to;                                                        \
  HOLOGRAM_UNROLL                                                   \
  for (int v = 0; v < kVectors; v++) to.v[v] = Machine::expression; \
  return to
  HOLOGRAM_LANES Bits word(uint32_t k) const {
    HOLOGRAM_EACH(Bits, word(w_ + k * kTileRows + v * Machine::kLanes));
  }
  HOLOGRAM_LANES Bits shl(const Bits& a, uint32_t k) const { HOLOGRAM_EACH(Bits, shl(a.v[v], k)); }
  HOLOGRAM_LANES Bits shr(const Bits& a, uint32_t k) const { HOLOGRAM_EACH(Bits, shr(a.v[v], k)); }
  HOLOGRAM_LANES Bits masked(const Bits& a, uint32_t mask) const {
    HOLOGRAM_EACH(Bits, masked(a.v[v], mask));
  }
  HOLOGRAM_LANES Bits joined(const Bits& a, const Bits& b) const {
    HOLOGRAM_EACH(Bits, joined(a.v[v], b.v[v]));
  }
  HOLOGRAM_LANES Bits times(const Bits& a, uint32_t factor) const {
    HOLOGRAM_EACH(Bits, times(a.v[v], factor));
  }
  HOLOGRAM_LANES Bits lookup(const Bits& a, const Codes& table) const {
    HOLOGRAM_EACH(Bits, lookup(a.v[v], table));
  }
  HOLOGRAM_LANES Real half(const Bits& a) const { HOLOGRAM_EACH(Real, half(a.v[v])); }
  HOLOGRAM_LANES Real real(const Bits& a) const { HOLOGRAM_EACH(Real, real(a.v[v])); }
  HOLOGRAM_LANES Real sbyte(const Bits& a) const {
    HOLOGRAM_EACH(Real, real(Machine::sar(a.v[v], 24)));
  }
  HOLOGRAM_LANES Real exponent(const Bits& a) const { HOLOGRAM_EACH(Real, exponent(a.v[v])); }
  HOLOGRAM_LANES Real product(const Real& a, const Real& b) const {
    HOLOGRAM_EACH(Real, product(a.v[v], b.v[v]));
  }
  HOLOGRAM_LANES Real less(const Real& a, const Real& b) const {
    HOLOGRAM_EACH(Real, difference(a.v[v], b.v[v]));
  }
  HOLOGRAM_LANES Real number(float x) const { HOLOGRAM_EACH(Real, number(x)); }
  HOLOGRAM_LANES Real zero() const { HOLOGRAM_EACH(Real, zero()); }
#undef HOLOGRAM_EACH

  HOLOGRAM_LANES void put(uint32_t k, const Bits& codes) {
    HOLOGRAM_UNROLL
    for (int c = 0; c < kColumns; c++) {
      const Machine::Word four = Machine::spread(x_[c] + place(k));
      HOLOGRAM_UNROLL
      for (int v = 0; v < kVectors; v++)
        sum_[c].v[v] = Machine::dot(sum_[c].v[v], codes.v[v], four);
    }
  }
  HOLOGRAM_LANES void put_signed(uint32_t k, const Bits& codes) {
    HOLOGRAM_UNROLL
    for (int c = 0; c < kColumns; c++) {
      const Machine::Word four = Machine::spread(x_[c] + place(k));
      HOLOGRAM_UNROLL
      for (int v = 0; v < kVectors; v++)
        sum_[c].v[v] = Machine::signed_dot(sum_[c].v[v], codes.v[v], four);
    }
  }
  HOLOGRAM_LANES void add(uint32_t n, Part part, const Real& scale, uint32_t more) {
    HOLOGRAM_UNROLL
    for (int c = 0; c < kColumns; c++) {
      const uint32_t* const x = x_[c] + n * kWords;
      const Machine::Real d = Machine::spread_real(x + kScale);
      Machine::Word off = Machine::no_bits();
      if (more != 0) {
        if (part != Part::Second) off = Machine::spread(x + kFirstSum);
        if (part != Part::First) off = Machine::added(off, Machine::spread(x + kSecondSum));
        off = Machine::times(off, more);
      }
      HOLOGRAM_UNROLL
      for (int v = 0; v < kVectors; v++) {
        const Machine::Word sum = more == 0 ? sum_[c].v[v] : Machine::subtracted(sum_[c].v[v], off);
        y_[c].v[v] = Machine::fma(Machine::product(scale.v[v], d), Machine::real(sum), y_[c].v[v]);
        sum_[c].v[v] = Machine::no_bits();
      }
    }
  }
  HOLOGRAM_LANES void add_signed(uint32_t n, Part part, const Real& scale) {
    add(n, part, scale, Machine::kSigned);
  }
  HOLOGRAM_LANES void add_with(uint32_t n, Part part, const Real& scale, const Real& offset) {
    HOLOGRAM_UNROLL
    for (int c = 0; c < kColumns; c++) {
      const uint32_t* const x = x_[c] + n * kWords;
      const Machine::Real sum =
          part == Part::Whole
              ? Machine::spread_real(x + kScaledSum)
              : Machine::product(Machine::spread_real(x + kScale),
                                 Machine::real(Machine::spread(
                                     x + (part == Part::First ? kFirstSum : kSecondSum))));
      HOLOGRAM_UNROLL
      for (int v = 0; v < kVectors; v++) y_[c].v[v] = Machine::fma(offset.v[v], sum, y_[c].v[v]);
    }
    add(n, part, scale, 0);
  }

 private:
  // Of word k of the bytes.
  static constexpr uint32_t place(uint32_t k) { return k / 8 * kWords + k % 8; }
  static constexpr uint32_t kWords = hal::BytesDesc::kWords, kScale = hal::BytesDesc::kScale,
                            kScaledSum = hal::BytesDesc::kScaledSum,
                            kFirstSum = hal::BytesDesc::kFirstSum,
                            kSecondSum = hal::BytesDesc::kSecondSum;

  const uint32_t* w_;
  const uint32_t* x_[kColumns];
  Real y_[kColumns];
  Bits sum_[kColumns];
};

// All rows of a tile, one block after the other. What is read by one column is announced: of more
// columns, the work is longer than what it waits for.
template <int kVectors, int kColumns, int64_t kOfBlock, int64_t kOfX, class MultiplyBlock>
HOLOGRAM_LANES void multiply_rows(const Tile& t, const MultiplyBlock& multiply_block) {
  for (int64_t r = 0; r < kTileRows; r += kVectors * Machine::kLanes) {
    Rows<kVectors, kColumns> rows(t.words + r, t.x);
    const uint32_t* announced = t.words + t.ahead;
    for (int64_t part = 0; part < t.parts; part++) {
      const int64_t end = t.blocks * (part + 1) / t.parts;
      for (int64_t b = t.blocks * part / t.parts; b < end; b++) {
        if (kColumns == 1 && r == 0 && t.ahead > 0)
          for (int64_t line = 0; line < kOfBlock; line += kTileRows / 2, announced += kTileRows / 2)
            __builtin_prefetch(announced);
        multiply_block(rows);
        rows.next(kOfBlock, kOfX);
      }
      rows.store(t.y + r, t.step, part > 0);
    }
  }
}

#define HOLOGRAM_TYPE(type_name, codes)                                                           \
  template <int kVectors, int kColumns>                                                           \
  void rows_##codes(const Tile& t) {                                                              \
    constexpr Layout kLayout = *layout_of(type_name);                                             \
    constexpr int64_t kOfX = kLayout.elements / hal::BytesDesc::kBlock * hal::BytesDesc::kWords;  \
    struct Multiply {                                                                             \
      HOLOGRAM_LANES void operator()(Rows<kVectors, kColumns>& rows) const { codes(rows); }       \
    };                                                                                            \
    multiply_rows<kVectors, kColumns, int64_t{kLayout.words()} * kTileRows, kOfX>(t, Multiply()); \
  }
HOLOGRAM_FOR_BLOCK_TYPES(HOLOGRAM_TYPE)
#undef HOLOGRAM_TYPE

inline void round_rows(const float* x, int64_t blocks, uint32_t* to) {
  using Desc = hal::BytesDesc;
  constexpr uint32_t kInfinity = 0x7f800000;
  constexpr float kLeast = 0x1p-100f, kWhole = 0x1.8p23f;  // adding it leaves whole numbers
  for (int64_t b = 0; b < blocks; b++, x += Desc::kBlock, to += Desc::kWords) {
    uint32_t most = 0;
    for (int64_t i = 0; i < Desc::kBlock; i++) {
      const uint32_t size = std::bit_cast<uint32_t>(x[i]) & 0x7fffffff;
      most = size > most ? size : most;
    }
    const bool finite = most < kInfinity;
    const float amax = std::bit_cast<float>(most);
    const float inverse = finite && amax >= kLeast ? 127.0f / amax : 0.0f;
    int32_t q[Desc::kBlock];
    // Of numbers that are not finite all bytes are 0: the scale is NaN.
    const uint32_t kept = finite ? ~0u : 0;
    for (int64_t i = 0; i < Desc::kBlock; i++) {
      const float number = std::bit_cast<float>(std::bit_cast<uint32_t>(x[i]) & kept);
      const float scaled = number * inverse + kWhole;
      q[i] = std::bit_cast<int32_t>(scaled) - std::bit_cast<int32_t>(kWhole);
    }
    int8_t bytes[Desc::kBlock];
    for (int64_t i = 0; i < Desc::kBlock; i++) bytes[i] = static_cast<int8_t>(q[i]);
    std::memcpy(to, bytes, sizeof bytes);
    int32_t first = 0, second = 0;
    for (int64_t i = 0; i < Desc::kBlock / 2; i++) {
      first += q[i];
      second += q[i + Desc::kBlock / 2];
    }
    const float scale = !finite          ? std::bit_cast<float>(0x7fc00000u)
                        : amax >= kLeast ? amax * (1.0f / 127.0f)
                                         : 0.0f;
    to[Desc::kScale] = std::bit_cast<uint32_t>(scale);
    to[Desc::kScaledSum] = std::bit_cast<uint32_t>(scale * static_cast<float>(first + second));
    to[Desc::kFirstSum] = static_cast<uint32_t>(first);
    to[Desc::kSecondSum] = static_cast<uint32_t>(second);
  }
}

#define HOLOGRAM_TYPE(type_name, codes) \
  {type_name, &rows_##codes<Machine::kVectors, 1>, &rows_##codes<1, Machine::kColumns>},
inline constexpr TypeKernels kTypeKernels[] = {HOLOGRAM_FOR_BLOCK_TYPES(HOLOGRAM_TYPE)};
#undef HOLOGRAM_TYPE

inline const Kernels& all_kernels() {
  static constexpr Kernels kAll = {Machine::kName, Machine::kColumns, kTypeKernels, &round_rows};
  return kAll;
}
