#include "libraries/lapack/decompositions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstring>

#include "core/messages.hpp"
#include "libraries/lapack/lapack.hpp"

namespace hologram::libraries {
namespace {

using core::Text;
using lapack::Int;
using lapack::Lapack;

// A batch of matrices, by column.
template <class T>
struct Batch {
  Array array;
  int64_t count, rows, columns;

  explicit Batch(Array given)
      : array(std::move(given)),
        count(array.shape()[0]),
        rows(array.shape()[2]),
        columns(array.shape()[1]) {}
  Batch(int64_t count, int64_t rows, int64_t columns)
      : array(dtype_of<T>, {count, columns, rows}), count(count), rows(rows), columns(columns) {}

  T* matrix(int64_t i) { return array.mutable_as<T>().data() + i * rows * columns; }
  static Batch copy_of(const Array& from) {
    Batch made{Array(from.dtype(), from.shape())};
    if (from.bytes() > 0) std::memcpy(made.array.mutable_data(), from.data(), from.bytes());
    return made;
  }
};

template <class T>
Array vectors(int64_t count, int64_t length) {
  return Array(dtype_of<T>, {count, length});
}
template <class T>
T* row(Array& array, int64_t i) {
  return array.mutable_as<T>().data() + i * array.shape()[1];
}

// What a routine asks for when it is called with a size of -1: a whole number as a T, which may
// have been rounded down.
template <class T>
Int room(T asked) {
  const double size =
      std::ceil(static_cast<double>(std::nextafter(asked, static_cast<T>(INFINITY))));
  return static_cast<Int>(std::clamp<double>(size, 1, INT_MAX));
}

Int leading(int64_t rows) { return static_cast<Int>(std::max<int64_t>(rows, 1)); }

template <class T>
class Decomposer {
 public:
  Decomposer(const DecompositionTask& task, const Lapack& lapack)
      : task_(task),
        call_(lapack.routines<T>()),
        a_(Batch<T>::copy_of(task.operands[0])),
        n_(static_cast<Int>(a_.columns)),
        m_(static_cast<Int>(a_.rows)),
        k_(std::min(m_, n_)),
        lda_(leading(m_)) {}

  std::vector<Array> run() {
    switch (task_.which) {
      case Decomposition::Solve: return solve();
      case Decomposition::Lu: return lu();
      case Decomposition::Cholesky: return cholesky();
      case Decomposition::Qr: return qr(k_);
      case Decomposition::CompleteQr: return qr(m_);
      case Decomposition::Eigen: return eigen(true);
      case Decomposition::Eigenvalues: return eigen(false);
      case Decomposition::Svd: return svd('S');
      case Decomposition::FullSvd: return svd('A');
      case Decomposition::SingularValues: return svd('N');
      case Decomposition::LeastSquares: return least_squares();
    }
    return {};
  }

 private:
  // info > 0: the matrix has no such decomposition; below 0 an argument was wrong.
  void check(Int info, Text refusal, int64_t i) const {
    if (info > 0) throw core::error(refusal, task_.name, i);
    if (info < 0)
      throw core::error(Text::InternalError,
                        fmt::format("{}: LAPACK refuses argument {}", task_.name, -info));
  }

  std::vector<Array> solve() {
    auto b = Batch<T>::copy_of(task_.operands[1]);
    std::vector<Int> pivots(static_cast<size_t>(n_));
    const Int columns = static_cast<Int>(b.columns);
    Int info = 0;
    for (int64_t i = 0; i < a_.count; i++) {
      call_.gesv(&n_, &columns, a_.matrix(i), &lda_, pivots.data(), b.matrix(i), &lda_, &info);
      check(info, Text::SingularMatrix, i);
    }
    return {b.array};
  }

  // A pivot of 0 is an answer: the determinant is 0.
  std::vector<Array> lu() {
    Array signs(dtype_of<T>, {a_.count});
    std::vector<Int> pivots(static_cast<size_t>(k_));
    Int info = 0;
    for (int64_t i = 0; i < a_.count; i++) {
      call_.getrf(&m_, &n_, a_.matrix(i), &lda_, pivots.data(), &info);
      check(std::min(info, 0), Text::SingularMatrix, i);
      bool odd = false;
      for (size_t p = 0; p < pivots.size(); p++) odd ^= pivots[p] != static_cast<Int>(p) + 1;
      signs.mutable_as<T>()[static_cast<size_t>(i)] = odd ? -1 : 1;
    }
    return {a_.array, signs};
  }

  std::vector<Array> cholesky() {
    Int info = 0;
    for (int64_t i = 0; i < a_.count; i++) {
      call_.potrf(task_.upper ? "U" : "L", &n_, a_.matrix(i), &lda_, &info, 1);
      check(info, Text::NotPositiveDefinite, i);
    }
    return {a_.array};
  }

  std::vector<Array> qr(Int columns) {
    Batch<T> q(a_.count, m_, columns);
    std::vector<T> tau(static_cast<size_t>(std::max(k_, 1)));
    T asked[2] = {};
    Int info = 0, size = -1;
    call_.geqrf(&m_, &n_, nullptr, &lda_, tau.data(), &asked[0], &size, &info);
    call_.orgqr(&m_, &columns, &k_, nullptr, &lda_, tau.data(), &asked[1], &size, &info);
    size = std::max(room(asked[0]), room(asked[1]));
    std::vector<T> work(static_cast<size_t>(size));
    for (int64_t i = 0; i < a_.count; i++) {
      call_.geqrf(&m_, &n_, a_.matrix(i), &lda_, tau.data(), work.data(), &size, &info);
      check(info, Text::NotConverged, i);
      std::copy_n(a_.matrix(i), int64_t{m_} * k_, q.matrix(i));
      call_.orgqr(&m_, &columns, &k_, q.matrix(i), &lda_, tau.data(), work.data(), &size, &info);
      check(info, Text::NotConverged, i);
    }
    return {q.array, a_.array};
  }

  std::vector<Array> eigen(bool with_vectors) {
    Array values = vectors<T>(a_.count, n_);
    const char* const job = with_vectors ? "V" : "N";
    T asked = 0;
    Int info = 0, size = -1, integers = -1, asked_integers = 0;
    call_.syevd(job, "L", &n_, nullptr, &lda_, nullptr, &asked, &size, &asked_integers, &integers,
                &info, 1, 1);
    size = room(asked);
    integers = std::max(asked_integers, 1);
    std::vector<T> work(static_cast<size_t>(size));
    std::vector<Int> whole(static_cast<size_t>(integers));
    for (int64_t i = 0; i < a_.count; i++) {
      call_.syevd(job, "L", &n_, a_.matrix(i), &lda_, row<T>(values, i), work.data(), &size,
                  whole.data(), &integers, &info, 1, 1);
      check(info, Text::NotConverged, i);
    }
    if (!with_vectors) return {values};
    return {values, a_.array};
  }

  std::vector<Array> svd(char job) {
    const Int of_u = job == 'N' ? 0 : job == 'A' ? m_ : k_;
    const Int of_v = job == 'N' ? 0 : job == 'A' ? n_ : k_;
    Array s = vectors<T>(a_.count, k_);
    Batch<T> u(a_.count, job == 'N' ? 0 : m_, of_u), vt(a_.count, of_v, job == 'N' ? 0 : n_);
    const Int ldvt = leading(of_v);
    if (k_ == 0) {  // which LAPACK leaves alone
      identities(u);
      identities(vt);
      return {s, u.array, vt.array};
    }
    std::vector<Int> integers(8 * static_cast<size_t>(k_));
    T asked = 0;
    Int info = 0, size = -1;
    const auto decompose = [&](T* a, T* s, T* u, T* vt, T* work) {
      call_.gesdd(&job, &m_, &n_, a, &lda_, s, u, &lda_, vt, &ldvt, work, &size, integers.data(),
                  &info, 1);
    };
    decompose(nullptr, nullptr, nullptr, nullptr, &asked);
    size = room(asked);
    std::vector<T> work(static_cast<size_t>(size));
    for (int64_t i = 0; i < a_.count; i++) {
      decompose(a_.matrix(i), row<T>(s, i), u.matrix(i), vt.matrix(i), work.data());
      check(info, Text::NotConverged, i);
    }
    return {s, u.array, vt.array};
  }

  static void identities(Batch<T>& batch) {
    for (int64_t i = 0; i < batch.count; i++)
      for (int64_t k = 0; k < std::min(batch.rows, batch.columns); k++)
        batch.matrix(i)[k * batch.rows + k] = 1;
  }

  // The right-hand sides stand in rows enough for the solutions, which take their place.
  std::vector<Array> least_squares() {
    Batch<T> b(task_.operands[1]);
    const Int columns = static_cast<Int>(b.columns), ldb = leading(std::max(m_, n_));
    Batch<T> x(a_.count, n_, b.columns);
    Array s = vectors<T>(a_.count, k_), ranks(DType::I32, {a_.count});
    if (k_ == 0) return {x.array, ranks, s};
    std::vector<T> both(static_cast<size_t>(ldb) * static_cast<size_t>(std::max(columns, 1)));
    const T cutoff = static_cast<T>(task_.cutoff);
    const std::span<const T> given = b.array.template as<T>();
    T asked = 0;
    Int info = 0, size = -1, integers = 0, rank = 0;
    call_.gelsd(&m_, &n_, &columns, nullptr, &lda_, nullptr, &ldb, nullptr, &cutoff, &rank, &asked,
                &size, &integers, &info);
    size = room(asked);
    std::vector<T> work(static_cast<size_t>(size));
    std::vector<Int> whole(static_cast<size_t>(std::max(integers, 1)));
    for (int64_t i = 0; i < a_.count; i++) {
      std::fill(both.begin(), both.end(), T{0});
      for (int64_t c = 0; c < columns; c++)
        std::copy_n(given.data() + (i * columns + c) * m_, m_, both.data() + c * ldb);
      call_.gelsd(&m_, &n_, &columns, a_.matrix(i), &lda_, both.data(), &ldb, row<T>(s, i), &cutoff,
                  &rank, work.data(), &size, whole.data(), &info);
      check(info, Text::NotConverged, i);
      for (int64_t c = 0; c < columns; c++)
        std::copy_n(both.data() + c * ldb, n_, x.matrix(i) + c * n_);
      ranks.mutable_as<int32_t>()[static_cast<size_t>(i)] = rank;
    }
    return {x.array, ranks, s};
  }

  const DecompositionTask& task_;
  const lapack::Routines<T>& call_;
  Batch<T> a_;
  Int n_, m_, k_, lda_;
};

}  // namespace

std::vector<Array> decompose(const DecompositionTask& task) {
  const Lapack& lapack = Lapack::instance();
  if (!lapack.info().reason.empty())
    throw core::error(Text::NoLapack, task.name, lapack.info().reason, lapack::kVariable);
  for (const Array& a : task.operands)
    for (const int64_t n : {a.shape()[1], a.shape()[2]})
      if (n > INT_MAX / 2) throw core::error(Text::MatrixTooLarge, task.name, n);
  const cblas::OneThread alone = lapack.one_thread();
  if (task.operands[0].dtype() == DType::F32) return Decomposer<float>(task, lapack).run();
  return Decomposer<double>(task, lapack).run();
}

}  // namespace hologram::libraries
