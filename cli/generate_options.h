// Options of verbs that generate text, and how their results are shown.
#ifndef HEXLANE_CLI_GENERATE_OPTIONS_H_
#define HEXLANE_CLI_GENERATE_OPTIONS_H_

#include "verb.h"

namespace hexlane::cli {

struct GenerateSetup {
  std::string package;
  EngineOptions engine;
  GenerateOptions generate;
  std::string system;  // system message of a chat
};

void AddEngineOptions(CLI::App& app, GenerateSetup& setup);    // what runs, and on what
void AddGenerateOptions(CLI::App& app, GenerateSetup& setup);  // those, and how to generate
Result<std::shared_ptr<Engine>> OpenEngine(GenerateSetup& setup, const Common& common);

// Says on stderr why no NPU is used.
void NoteFallback(const EngineInfo& info);

Json ToJson(const GenerateStats& stats);
Json ToJson(const EngineInfo& info, const GenerateResult& result);
void PrintStats(const EngineInfo& info, const GenerateStats& stats);  // to stderr

}  // namespace hexlane::cli

#endif  // HEXLANE_CLI_GENERATE_OPTIONS_H_
