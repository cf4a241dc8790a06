#include "compiler/questions.h"

#include <algorithm>

#include "base/json.h"
#include "base/lines.h"

namespace hexlane {
namespace {

// The value of the first of two keys that the object has; kCorrupt names both.
template <typename T>
Result<T> EitherField(const Json& object, std::string_view key, std::string_view other,
                      const std::string& where) {
  if (!object.is_object()) return Corrupt("a question is not a JSON object").At("{}", where);
  if (object.contains(key) && object.contains(other))
    return InvalidInput("both \"{}\" and \"{}\" are given", key, other).At("{}", where);
  return JsonField<T>(object, object.contains(other) ? other : key, where);
}

Result<std::vector<std::string>> ReadChoices(const Json& object, const std::string& where) {
  std::vector<std::string> choices;
  for (const Json& choice : *TRY(JsonArray(object, "choices", where))) {
    const auto* text = choice.get_ptr<const std::string*>();
    if (text == nullptr || text->empty()) {
      return InvalidInput("\"choices\"[{}] is no choice", choices.size())
          .At("{}", where)
          .Want("a string that is not empty")
          .Got("{}", choice.dump(-1, ' ', true, Json::error_handler_t::replace));
    }
    choices.push_back(*text);
  }
  if (choices.size() >= 2) return choices;
  return InvalidInput("too few \"choices\"")
      .At("{}", where)
      .Want("two or more")
      .Got("{}", choices.size());
}

Result<Question> ReadQuestion(const Json& object, std::string where) {
  Question question{.context = TRY(EitherField<std::string>(object, "context", "question", where)),
                    .delimiter = TRY(JsonFieldOr<std::string>(object, "delimiter", " ", where)),
                    .choices = TRY(ReadChoices(object, where))};
  const auto answer = TRY(EitherField<int64_t>(object, "answer", "label", where));
  const auto count = static_cast<int64_t>(question.choices.size());
  if (answer < 0 || answer >= count) {
    return InvalidInput("the answer is not one of the choices")
        .At("{}: {}", where, object.contains("answer") ? "answer" : "label")
        .Want("0..{}", count - 1)
        .Got("{}", answer);
  }
  question.answer = static_cast<size_t>(answer);
  question.where = std::move(where);
  return question;
}

bool IsSpace(char c) { return std::string_view(" \t\n\r\v\f").find(c) != std::string_view::npos; }

// Moves the spaces that end `context` to the front of `choice`.
void MoveSpaces(std::string& context, std::string& choice) {
  const auto last = std::find_if_not(context.rbegin(), context.rend(), IsSpace);
  const size_t kept = static_cast<size_t>(context.rend() - last);
  choice.insert(0, context, kept, std::string::npos);
  context.resize(kept);
}

struct Pair {
  std::vector<int32_t> context, choice;
};

// Without what the tokenizer puts after a text: that ends neither the context nor the choice.
std::vector<int32_t> EncodeOpen(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<int32_t> ids = tokenizer.Encode(text);
  ids.resize(ids.size() - tokenizer.suffix_ids().size());
  return ids;
}

Pair EncodePair(const Tokenizer& tokenizer, std::string context, std::string choice) {
  MoveSpaces(context, choice);
  std::vector<int32_t> first = EncodeOpen(tokenizer, context);
  const std::vector<int32_t> whole = EncodeOpen(tokenizer, context + choice);
  const auto cut = static_cast<std::ptrdiff_t>(std::min(first.size(), whole.size()));
  return {std::move(first), {whole.begin() + cut, whole.end()}};
}

}  // namespace

Result<std::vector<Question>> ParseQuestions(std::string_view text, std::string_view file,
                                             int max) {
  std::vector<Question> questions;
  for (const TextLine& line : LinesOf(text)) {
    std::string where = fmt::format("{}: line {}", file, line.number);
    const Json object = TRY(ParseJson(line.text, where));
    questions.push_back(TRY(ReadQuestion(object, std::move(where))));
    if (max > 0 && questions.size() == static_cast<size_t>(max)) break;
  }
  if (questions.empty())
    return InvalidInput("'{}' has no questions", file).Want("a JSON object a line");
  return questions;
}

Result<ScoredSequence> EncodeChoice(const Tokenizer& tokenizer, const Question& question,
                                    size_t choice, size_t context) {
  Pair pair =
      EncodePair(tokenizer, question.context, question.delimiter + question.choices[choice]);
  if (pair.context.empty()) {
    const auto begin = tokenizer.bos_id() ? tokenizer.bos_id() : tokenizer.eos_id();
    if (begin) pair.context.push_back(*begin);
  }
  if (pair.context.empty() || pair.choice.empty()) {
    return InvalidInput("{} has no tokens", pair.choice.empty() ? "a choice" : "the context")
        .At("{}, choice {}", question.where, choice)
        .Want("{}", pair.choice.empty() ? "a choice that adds to the context"
                                        : "a context: the tokenizer has neither BOS nor EOS");
  }
  // The last token is not run.
  if (pair.choice.size() > context) {
    return InvalidInput("the choice does not fit the context")
        .At("{}, choice {}", question.where, choice)
        .Want("at most {} tokens", context)
        .Got("{}", pair.choice.size());
  }
  ScoredSequence sequence{.ids = std::move(pair.context)};
  sequence.ids.insert(sequence.ids.end(), pair.choice.begin(), pair.choice.end());
  const size_t size = std::min(sequence.ids.size(), context + 1);
  sequence.ids.erase(sequence.ids.begin(), sequence.ids.end() - static_cast<ptrdiff_t>(size));
  sequence.first = size - pair.choice.size() - 1;
  return sequence;
}

}  // namespace hexlane
