// Multiple-choice questions: read from a file and cut into tokens.
#ifndef HEXLANE_COMPILER_QUESTIONS_H_
#define HEXLANE_COMPILER_QUESTIONS_H_

#include <string>
#include <string_view>
#include <vector>

#include "compiler/logits.h"
#include "hexlane/status.h"
#include "runtime/tokenizer/tokenizer.h"

namespace hexlane {

struct Question {
  std::string context;               // may be empty
  std::string delimiter;             // between the context and each choice
  std::vector<std::string> choices;  // two or more, none empty
  size_t answer = 0;                 // index
  std::string where;                 // "questions.jsonl: line 3"
};

// One JSON object a line (docs/evaluation.md); empty lines count but are skipped. At most `max` of
// them; 0: all. kCorrupt and kInvalidInput name file, line and field.
Result<std::vector<Question>> ParseQuestions(std::string_view text, std::string_view file, int max);

// Tokens of context and choice, scored from the choice's first on. As lm-evaluation-harness cuts:
// spaces that end the context belong to the choice; the two are tokenised as one text, of which the
// choice takes what comes after as many tokens as the context has by itself; before it stand the
// context's own. A context without tokens is the tokenizer's BOS,
// else its EOS. Of more than `context` tokens the first ones are dropped, but never one of the
// choice: kInvalidInput then.
Result<ScoredSequence> EncodeChoice(const Tokenizer& tokenizer, const Question& question,
                                    size_t choice, size_t context);

}  // namespace hexlane

#endif  // HEXLANE_COMPILER_QUESTIONS_H_
