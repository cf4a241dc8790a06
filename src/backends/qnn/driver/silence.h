// The vendor library writes banner lines to standard output, which belongs to our user. While a
// StdoutSilencer lives, file descriptor 1 leads to /dev/null. Process-wide; nests; calls that print
// are few and short.
#ifndef HEXLANE_BACKENDS_QNN_DRIVER_SILENCE_H_
#define HEXLANE_BACKENDS_QNN_DRIVER_SILENCE_H_

namespace hexlane::qnn {

class StdoutSilencer {
 public:
  StdoutSilencer();
  ~StdoutSilencer();
  StdoutSilencer(const StdoutSilencer&) = delete;
  StdoutSilencer& operator=(const StdoutSilencer&) = delete;
};

}  // namespace hexlane::qnn

#endif  // HEXLANE_BACKENDS_QNN_DRIVER_SILENCE_H_
