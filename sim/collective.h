// What a collective algorithm is: who sends how much to whom in which step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/units.h"

namespace weft {

/// Collective operations. `size` is always nccl-tests' size S: the larger of a rank's buffers (the
/// whole vector for all_reduce, the input of reduce_scatter, the output of all_gather, the send
/// buffer of all_to_all).
enum class Operation : std::uint8_t { all_reduce, reduce_scatter, all_gather, all_to_all };

/// "all_reduce", ...
const char* to_text(Operation);

/// busbw = algbw x this factor (nccl-tests, PERFORMANCE.md): 2(n-1)/n for all_reduce, else (n-1)/n.
double bus_factor(Operation, int ranks);

/// One message of a step.
struct Send {
  int peer;
  Bytes bytes;
};

/// A step-synchronous algorithm on ranks 0..n-1 of a communicator: a rank begins step k when all
/// its sends of step k-1 have arrived and all messages it gets in step k-1 have.
/// Implementations are stateless.
class CollectiveAlgorithm {
 public:
  virtual ~CollectiveAlgorithm() = default;
  virtual std::string name() const = 0;
  virtual bool supports(Operation) const = 0;
  /// Steps each rank goes through. Precondition here and below: n >= 2.
  virtual int steps(Operation, int n) const = 0;
  /// Appends what `rank` sends in `step`. Over a collective the bytes are exact to the byte.
  virtual void sends(Operation, Bytes size, int n, int rank, int step,
                     std::vector<Send>& out) const = 0;
  /// How many messages `rank` gets in `step`.
  virtual int receives(Operation, int n, int rank, int step) const = 0;
  /// True when every rank sends one message per step, always to the same peer (a ring): the path is
  /// then chosen once.
  virtual bool fixed_peer() const = 0;

  /// Messages in one run over n ranks.
  std::uint64_t messages(Operation, int n) const;
  /// Seconds on a private crossbar: each message runs alone at `rate` after `latency`, except that
  /// a rank's messages of one step share its port both ways. Exact for step-synchronous algorithms
  /// with one message a step; with several it is the time of equal shares.
  Seconds time_alone(Operation, Bytes size, int n, BitsPerSecond rate, Seconds latency) const;
};

}  // namespace weft
