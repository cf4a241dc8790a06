// Accuracy over multiple-choice questions by the log-likelihood of each choice given its context,
// with the figures of EleutherAI's lm-evaluation-harness: acc, acc_norm, acc_bytes.
#include <algorithm>
#include <chrono>
#include <cmath>

#include "compiler/questions.h"
#include "compiler/text_comparison.h"
#include "kernels/sample/softmax.h"

namespace hexlane {
namespace {

using LogLikelihoods = std::vector<std::vector<double>>;  // [question][choice]

double CountBytes(const std::string& text) { return static_cast<double>(text.size()); }

double CountCharacters(const std::string& text) {
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
  return static_cast<double>(std::ranges::count_if(text, std::not_fn(continues)));
}

double One(const std::string&) { return 1; }

// A choice's log-likelihood counts divided by `length` of its text; of equals the first is chosen.
Accuracy AccuracyBy(const std::vector<Question>& questions, const LogLikelihoods& likelihoods,
                    double (*length)(const std::string&)) {
  std::vector<double> right;
  for (size_t q = 0; q < questions.size(); ++q) {
    std::vector<double> score = likelihoods[q];
    for (size_t c = 0; c < score.size(); ++c) score[c] /= length(questions[q].choices[c]);
    const auto best = static_cast<size_t>(std::ranges::max_element(score) - score.begin());
    right.push_back(best == questions[q].answer);
  }
  const MeanAndError mean = MeanOf(right);
  return {mean.mean, mean.standard_error};
}

struct Choices {
  ScoredSequences sequences;
  std::vector<std::pair<size_t, size_t>> places;  // question and choice of each
};

Result<Choices> Encode(const std::vector<Question>& questions, const MultipleChoiceOptions& options,
                       const StageRunner& runner) {
  const auto tokenizer = TRY(OpenTokenizer(options.source.path));
  const auto context = static_cast<size_t>(runner.context());
  Choices choices;
  for (size_t q = 0; q < questions.size(); ++q) {
    for (size_t c = 0; c < questions[q].choices.size(); ++c) {
      choices.sequences.push_back(TRY(EncodeChoice(*tokenizer, questions[q], c, context)));
      choices.places.push_back({q, c});
    }
  }
  return choices;
}

Result<LogLikelihoods> Score(const std::vector<Question>& questions,
                             const MultipleChoiceOptions& options) {
  const auto runner = TRY(StageRunner::Open(options.source));
  const Choices choices = TRY(Encode(questions, options, *runner));
  LogLikelihoods likelihoods;
  for (const Question& question : questions) likelihoods.emplace_back(question.choices.size());
  const auto add = [&](size_t i, size_t p, std::span<const float> logits) -> Result<void> {
    const auto [question, choice] = choices.places[i];
    const double value = -NegativeLogLikelihood(logits, choices.sequences[i].target(p));
    likelihoods[question][choice] += value;
    if (std::isfinite(value)) return {};
    return InvalidInput("the model's logits are not finite numbers")
        .At("{}, choice {}, stage {}", questions[question].where, choice, StageName(options.stage))
        .Remedy("hexlane verify says which layer goes wrong");
  };
  TRY(ForEachScored(*runner, options.source,
                    {.stage = options.stage, .progress = options.source.progress},
                    choices.sequences, add));
  return likelihoods;
}

}  // namespace

Result<MultipleChoiceReport> EvaluateMultipleChoice(const MultipleChoiceOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const std::vector<Question> questions = TRY(ParseQuestions(
      TRY(ReadTextFile(options.questions)), options.questions.string(), options.max_questions));
  LogLikelihoods likelihoods = TRY(Score(questions, options));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  return MultipleChoiceReport{.questions = static_cast<int>(questions.size()),
                              .acc = AccuracyBy(questions, likelihoods, One),
                              .acc_norm = AccuracyBy(questions, likelihoods, CountCharacters),
                              .acc_bytes = AccuracyBy(questions, likelihoods, CountBytes),
                              .log_likelihoods = std::move(likelihoods),
                              .seconds = seconds.count(),
                              .stage = std::string(StageName(options.stage))};
}

}  // namespace hexlane
