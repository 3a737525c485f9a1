#include <atomic>
#include <condition_variable>
#include <list>
#include <thread>

#include "core/messages.hpp"
#include "core/wait.hpp"
#include "llm/model_state.hpp"

namespace hologram::llm {

struct Engine::State {
  struct Underway {
    std::shared_ptr<Answer> answer;
    std::promise<Generation> promise;
  };

  std::shared_ptr<Model::State> model;
  int64_t most_waiting = 0;
  std::condition_variable changed;
  std::atomic<int> callers = 0;  // who wait for the lock: they go before the next step
  std::list<Underway> underway;
  bool ends = false;
  std::thread thread;

  std::unique_lock<std::mutex> locked() {
    callers++;
    std::unique_lock lock(model->mutex);
    callers--;
    return lock;
  }
  void work();
  void hand_over(bool all);
};

// The answers that are done, to those who wait for them.
void Engine::State::hand_over(bool all) {
  for (auto each = underway.begin(); each != underway.end();) {
    if (all) model->scheduler->cancel(each->answer);
    if (!each->answer->done()) {
      ++each;
      continue;
    }
    try {
      each->answer->rethrow();
      each->promise.set_value(std::move(each->answer->made()));
    } catch (...) {
      each->promise.set_exception(std::current_exception());
    }
    each = underway.erase(each);
  }
}

void Engine::State::work() {
  std::unique_lock lock(model->mutex);
  for (;;) {
    core::wait(changed, lock, [&] { return ends || !underway.empty(); });
    if (ends) break;
    model->scheduler->step();
    hand_over(false);
    do {
      lock.unlock();
      std::this_thread::yield();
      lock.lock();
    } while (callers > 0);
  }
  hand_over(true);
}

Engine::Engine(const Model& model, int64_t most_waiting) : state_(std::make_unique<State>()) {
  state_->model = model.state_;
  state_->most_waiting = most_waiting;
  state_->thread = std::thread([state = state_.get()] { state->work(); });
}

Engine::~Engine() {
  {
    const auto lock = state_->locked();
    state_->ends = true;
  }
  state_->changed.notify_all();
  state_->thread.join();
}

std::future<Generation> Engine::submit(std::vector<int32_t> prompt, GenerateOptions options) {
  State& state = *state_;
  State::Underway request{state.model->answer(std::move(prompt), std::move(options)), {}};
  std::future<Generation> future = request.promise.get_future();
  {
    const auto lock = state.locked();
    if (state.model->scheduler->waiting() >= state.most_waiting)
      throw core::error(core::Text::ModelBusy, state.most_waiting);
    state.model->scheduler->submit(request.answer);
    state.underway.push_back(std::move(request));
  }
  state.changed.notify_all();
  return future;
}

Engine::Load Engine::load() const {
  const auto lock = state_->locked();
  const Scheduler& scheduler = *state_->model->scheduler;
  return {scheduler.running(), scheduler.waiting()};
}

}  // namespace hologram::llm
