// A queue of dated items that may move, made for many equal dates.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft {

/// Where an item stands in an EventQueue; each item has one.
struct QueueHook {
  static constexpr std::uint32_t kFollower = 0xfffffffe;  ///< behind a leader of the same date
  static constexpr std::uint32_t kOut = 0xffffffff;       ///< not in the queue

  std::uint32_t place = kOut;  ///< index in the heap, for a leader
  std::uint32_t next = 0;      ///< the ring of items of one date, in the order of adding
  std::uint32_t previous = 0;
};

/// A 4-ary heap over the distinct dates; items of bitwise equal dates hang from the first of them
/// in a ring, so that a batch of k items that end together costs O(k + log n) and not O(k log n).
/// A small table of recent dates finds the ring to join; missing it costs a heap place, no more.
/// `hook(item)` must return the item's QueueHook&.
template <class HookOf>
class EventQueue {
 public:
  explicit EventQueue(HookOf hook) : hook_(hook) {}

  bool empty() const { return heap_.empty(); }
  /// Date of the first item. Precondition: not empty.
  double first_date() const { return heap_.front().date; }

  /// Precondition: the item is not in the queue.
  void add(std::uint32_t item, double date) {
    Recent& recent = recent_of(date);
    if (recent.leader != QueueHook::kOut && recent.date == date) {
      join(recent.leader, item);
      return;
    }
    recent = {date, item};
    QueueHook& hook = hook_(item);
    hook.next = hook.previous = item;
    heap_.push_back({date, item});
    rise(heap_.size() - 1, {date, item});
  }

  /// Takes an item out. Precondition: it is in the queue.
  void remove(std::uint32_t item) {
    QueueHook& hook = hook_(item);
    if (hook.place == QueueHook::kFollower) {
      unlink(hook);
    } else if (hook.next != item) {
      promote(item, hook);
    } else {
      const std::uint32_t place = hook.place;
      forget(heap_[place].date, item);
      erase(place);
    }
    hook.place = QueueHook::kOut;
  }

  /// Changes an item's date; it need not be in the queue.
  void move(std::uint32_t item, double date) {
    QueueHook& hook = hook_(item);
    if (hook.place == QueueHook::kOut) {
      add(item, date);
      return;
    }
    if (hook.place == QueueHook::kFollower || hook.next != item) {
      remove(item);
      add(item, date);
      return;
    }
    const std::uint32_t place = hook.place;
    if (heap_[place].date == date) return;
    forget(heap_[place].date, item);
    Recent& recent = recent_of(date);
    if (recent.leader != QueueHook::kOut && recent.date == date) {
      erase(place);
      join(recent.leader, item);
      return;
    }
    recent = {date, item};
    if (date < heap_[place].date)
      rise(place, {date, item});
    else
      sink(place, {date, item});
  }

  /// Takes all items dated up to `end` out and calls take(item) for each.
  template <class Take>
  void pop_until(double end, Take take) {
    while (!heap_.empty() && heap_.front().date <= end) {
      const Entry first = heap_.front();
      forget(first.date, first.item);
      erase(0);
      std::uint32_t item = first.item;
      do {
        QueueHook& hook = hook_(item);
        const std::uint32_t next = hook.next;
        hook.place = QueueHook::kOut;
        take(item);
        item = next;
      } while (item != first.item);
    }
  }

 private:
  struct Entry {
    double date;
    std::uint32_t item;
  };
  struct Recent {
    double date = 0;
    std::uint32_t leader = QueueHook::kOut;
  };

  Recent& recent_of(double date) {
    const auto bits = order(date);
    return recent_[(bits * 0x9e3779b97f4a7c15ULL) >> (64 - kRecentBits)];
  }

  void forget(double date, std::uint32_t leader) {
    Recent& recent = recent_of(date);
    if (recent.leader == leader) recent.leader = QueueHook::kOut;
  }

  void join(std::uint32_t leader, std::uint32_t item) {
    QueueHook& first = hook_(leader);
    QueueHook& hook = hook_(item);
    hook.place = QueueHook::kFollower;
    hook.next = leader;
    hook.previous = first.previous;
    hook_(first.previous).next = item;
    first.previous = item;
  }

  void unlink(const QueueHook& hook) {
    hook_(hook.previous).next = hook.next;
    hook_(hook.next).previous = hook.previous;
  }

  /// The second of a ring takes its leader's place in the heap.
  void promote(std::uint32_t leader, const QueueHook& hook) {
    const std::uint32_t heir = hook.next;
    unlink(hook);
    Entry& entry = heap_[hook.place];
    Recent& recent = recent_of(entry.date);
    if (recent.leader == leader) recent.leader = heir;
    entry.item = heir;
    hook_(heir).place = hook.place;
  }

  void erase(std::size_t place) {
    const Entry last = heap_.back();
    heap_.pop_back();
    if (place == heap_.size()) return;
    if (place > 0 && last.date < heap_[(place - 1) / 4].date)
      rise(place, last);
    else
      sink(place, last);
  }

  void put(std::size_t place, const Entry& entry) {
    heap_[place] = entry;
    hook_(entry.item).place = static_cast<std::uint32_t>(place);
  }

  void rise(std::size_t place, const Entry entry) {
    while (place > 0) {
      const std::size_t parent = (place - 1) / 4;
      if (heap_[parent].date <= entry.date) break;
      put(place, heap_[parent]);
      place = parent;
    }
    put(place, entry);
  }

  void sink(std::size_t place, const Entry entry) {
    const std::size_t size = heap_.size();
    for (;;) {
      const std::size_t first = 4 * place + 1;
      if (first >= size) break;
      const std::size_t least = first + 4 <= size ? least_of_four(first) : least_of_last(first);
      if (heap_[least].date >= entry.date) break;
      put(place, heap_[least]);
      place = least;
    }
    put(place, entry);
  }

  /// Which of four siblings comes first: a tournament without jumps, for nobody can predict them.
  std::size_t least_of_four(std::size_t first) const {
    const Entry* const four = &heap_[first];
    const std::size_t left = order(four[1].date) < order(four[0].date) ? 1 : 0;
    const std::size_t right = order(four[3].date) < order(four[2].date) ? 3 : 2;
    return first + (order(four[right].date) < order(four[left].date) ? right : left);
  }

  std::size_t least_of_last(std::size_t first) const {
    std::size_t least = first;
    for (std::size_t child = first + 1; child < heap_.size(); ++child)
      if (heap_[child].date < heap_[least].date) least = child;
    return least;
  }

  /// Dates are not negative: their bits, as whole numbers, are in the same order.
  static std::uint64_t order(double date) { return std::bit_cast<std::uint64_t>(date); }

  static constexpr int kRecentBits = 8;

  HookOf hook_;
  std::vector<Entry> heap_;
  std::array<Recent, std::size_t{1} << kRecentBits> recent_{};
};

}  // namespace weft
