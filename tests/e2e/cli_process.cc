#include "cli_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

namespace hexlane::e2e {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// Three files that stand for the standard streams; a file never blocks as a pipe does.
class Streams {
 public:
  explicit Streams(const std::string& input) {
    std::string name = (fs::temp_directory_path() / "hexlane_e2e.XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    std::ofstream(folder_ / "in", std::ios::binary) << input;
  }
  ~Streams() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  fs::path Path(const char* name) const { return folder_ / name; }
  std::string Text(const char* name) const {
    std::ostringstream text;
    text << std::ifstream(Path(name), std::ios::binary).rdbuf();
    return text.str();
  }

 private:
  fs::path folder_;
};

int OpenOutput(const Streams& streams, const std::string& output) {
  if (output != "closed pipe") {
    const fs::path path = output.empty() ? streams.Path("out") : fs::path(output);
    return ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  }
  int ends[2];
  if (::pipe(ends) != 0) return -1;
  ::close(ends[0]);
  return ends[1];
}

[[noreturn]] void Execute(const Arguments& arguments, const CliOptions& options,
                          const Streams& streams) {
  ::dup2(::open(streams.Path("in").c_str(), O_RDONLY), STDIN_FILENO);
  ::dup2(OpenOutput(streams, options.output), STDOUT_FILENO);
  ::dup2(::open(streams.Path("err").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644), STDERR_FILENO);
  if (!options.folder.empty() && ::chdir(options.folder.c_str()) != 0) std::_Exit(126);
  for (const auto& [name, value] : options.environment) ::setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> argv = {const_cast<char*>(options.program.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  ::execv(options.program.c_str(), argv.data());
  std::_Exit(127);
}

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Waits for the end of `child`; sends the signal of the options in time, kills it when it is late.
int Await(pid_t child, const CliOptions& options, Clock::time_point start) {
  int status = 0;
  bool signalled = options.signal == 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    const double seconds = SecondsSince(start);
    if (!signalled &&
        (options.signal_when ? options.signal_when() : seconds >= options.signal_after)) {
      ::kill(child, options.signal);
      signalled = true;
    }
    if (seconds > options.timeout) {
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
      ADD_FAILURE() << options.program << " did not end within " << options.timeout << " s";
      return status;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return status;
}

}  // namespace

Json CliResult::json() const {
  Json json = Json::parse(out, nullptr, false);
  if (json.is_discarded()) {
    ADD_FAILURE() << "not JSON: " << out << "\nstderr: " << err;
    return nullptr;
  }
  return json;
}

CliResult RunCli(const Arguments& arguments, const CliOptions& options) {
  const Streams streams(options.input);
  const auto start = Clock::now();
  const pid_t child = ::fork();
  if (child == 0) Execute(arguments, options, streams);
  const int status = Await(child, options, start);
  CliResult result{.out = streams.Text("out"), .err = streams.Text("err")};
  result.seconds = SecondsSince(start);
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  return result;
}

}  // namespace hexlane::e2e
