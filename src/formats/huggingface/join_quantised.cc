#include "formats/huggingface/join_quantised.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "formats/decode/bits.h"
#include "formats/grouped/grouped_matrix.h"
#include "formats/huggingface/quantised_layout.h"

namespace hexlane {
namespace {

constexpr std::string_view kGroups = "groups of a multiple of 32 columns, or one group a row";

bool IsFloat(StorageType type) {
  return type == StorageType::kF16 || type == StorageType::kBF16 || type == StorageType::kF32;
}

// The matrix of one linear layer.
class MatrixReader {
 public:
  using Tensors = std::map<std::string_view, const StoredTensor*>;
  MatrixReader(const QuantisedFormat& format, const Tensors& tensors, std::string_view where)
      : format_(format),
        layout_(*format.layout),
        tensors_(tensors),
        where_(where),
        forms_(format.forms) {}

  // `integers` is X's; fills `joined` with X's weight and `used` with the names of its parts.
  Result<void> Run(const StoredTensor& integers, StoredTensor& joined,
                   std::set<std::string_view>& used);

 private:
  Result<const StoredTensor*> Part(std::string_view suffix, bool optional);
  Result<void> ReadIntegers(const StoredTensor& tensor);
  Result<int64_t> BitsOf(const StoredTensor& tensor);
  // Those forms of the config remain in which `of` is `got`: at least one.
  template <typename Of>
  Result<void> Keep(const StoredTensor& part, std::string_view what, std::string_view unit,
                    int64_t got, const Of& of);
  // Whether some form that remains is without a part.
  bool IsOptional(bool QuantisedForm::* part) const {
    return std::ranges::find(forms_, false, part) != forms_.end();
  }
  Result<void> ReadScales();
  Result<void> CheckGroups(const StoredTensor& scales);
  Result<void> ReadZeros();
  Result<void> ReadGroupIndex();
  Failure BadPart(const StoredTensor& part, std::string_view what) const {
    return Corrupt("tensor '{}': {}", part.name, what).At("{}", where_);
  }
  Result<void> CheckType(const StoredTensor& part, StorageType want) const;
  Result<void> CheckShape(const StoredTensor& part, const Shape& want) const;
  // An axis over outputs first, unless the layout is transposed.
  Shape Oriented(int64_t outputs, int64_t inputs) const {
    return layout_.transposed ? Shape{inputs, outputs} : Shape{outputs, inputs};
  }
  // The strides of a stored matrix of words of that shape.
  void SetStrides(const Shape& shape, PackedIntegers& integers) const {
    integers.row_stride = layout_.transposed ? 1 : shape[1];
    integers.column_stride = layout_.transposed ? shape[1] : 1;
  }

  const QuantisedFormat& format_;
  const QuantisedLayout& layout_;
  const Tensors& tensors_;
  std::string where_;
  std::vector<QuantisedForm> forms_;  // those of the config that the parts so far fit
  std::string layer_;                 // X
  std::vector<const StoredTensor*> parts_;
  GroupedMatrix matrix_;
};

Result<const StoredTensor*> MatrixReader::Part(std::string_view suffix, bool optional) {
  if (suffix.empty()) return nullptr;
  const std::string name = layer_ + std::string(suffix);
  const auto it = tensors_.find(name);
  if (it != tensors_.end()) {
    parts_.push_back(it->second);
    return it->second;
  }
  if (optional) return nullptr;
  return NotFound("tensor '{}' is missing", name)
      .At("{}", where_)
      .Want("'{}' beside '{}{}'", name, layer_, layout_.integers)
      .Remedy("The checkpoint is incomplete: download it again");
}

Result<void> MatrixReader::CheckType(const StoredTensor& part, StorageType want) const {
  if (part.type == want) return {};
  return Unsupported("tensor '{}' is stored as {}", part.name, Info(part.type).name)
      .At("{}", where_)
      .Want("{}", Info(want).name);
}

Result<void> MatrixReader::CheckShape(const StoredTensor& part, const Shape& want) const {
  if (part.shape == want) return {};
  return BadPart(part, "wrong shape").Want("{}", want).Got("{}", part.shape);
}

template <typename Of>
Result<void> MatrixReader::Keep(const StoredTensor& part, std::string_view what,
                                std::string_view unit, int64_t got, const Of& of) {
  std::set<int64_t> said;
  for (const QuantisedForm& form : forms_) said.insert(of(form));
  std::erase_if(forms_, [&](const QuantisedForm& form) { return of(form) != got; });
  if (!forms_.empty()) return {};
  return BadPart(part, fmt::format("its {} are not those of the config", what))
      .Want("{} of {} {}", what, fmt::join(said, " or "), unit)
      .Got("{} of {}", what, got)
      .Remedy("Download the model's own config.json");
}

// Bits of one integer: from the number of columns where the file gives it, else as the config says.
Result<int64_t> MatrixReader::BitsOf(const StoredTensor& tensor) {
  const StoredTensor* shape = TRY(Part(layout_.shape, layout_.shape.empty()));
  if (shape == nullptr) return forms_.front().bits;
  TRY(CheckType(*shape, StorageType::kI64));
  TRY(CheckShape(*shape, {2}));
  const auto outputs = Load<int64_t>(shape->bytes.data());
  const auto inputs = Load<int64_t>(shape->bytes.data() + 8);
  for (const int64_t bits : {4, 8}) {
    const int64_t per_word = 32 / bits;
    if (tensor.shape[0] == outputs && inputs % per_word == 0 &&
        tensor.shape[1] == inputs / per_word)
      return bits;
  }
  return Unsupported("tensor '{}': {} for a matrix of {} rows and {} columns", tensor.name,
                     tensor.shape, outputs, inputs)
      .At("{}", where_)
      .Want("integers of 4 or 8 bits in whole words")
      .Remedy("Give the checkpoint that it was made from");
}

Result<void> MatrixReader::ReadIntegers(const StoredTensor& tensor) {
  TRY(CheckType(tensor, StorageType::kI32));
  if (tensor.shape.rank() != 2 || tensor.shape.elements() == 0)
    return BadPart(tensor, "wrong shape").Want("a matrix").Got("{}", tensor.shape);
  if (forms_.empty()) {
    return BadPart(tensor, "the config has no weights quantised")
        .Want("config_groups that say how")
        .Remedy("Download the model's own config.json");
  }
  PackedIntegers& q = matrix_.q;
  q.words = tensor.bytes.data();
  q.bits = static_cast<int>(TRY(BitsOf(tensor)));
  TRY(Keep(tensor, "integers", "bits", q.bits,
           [](const QuantisedForm& form) { return form.bits; }));
  q.along_rows = layout_.packed_along_outputs;
  q.order = layout_.order;
  SetStrides(tensor.shape, q);
  const int64_t per_word = 32 / q.bits;
  matrix_.n = tensor.shape[layout_.transposed ? 1 : 0] * (q.along_rows ? per_word : 1);
  matrix_.k = tensor.shape[layout_.transposed ? 0 : 1] * (q.along_rows ? 1 : per_word);
  return {};
}

Result<void> MatrixReader::CheckGroups(const StoredTensor& scales) {
  const auto bad = [&](Failure failure) {
    return std::move(failure).At("{}", where_).Want("{}", kGroups).Got("{}", scales.shape);
  };
  const int64_t groups = scales.shape[layout_.transposed ? 0 : 1];
  if (groups <= 0 || matrix_.k % groups != 0)
    return bad(Corrupt("tensor '{}' does not divide the {} columns", scales.name, matrix_.k));
  const int64_t group = matrix_.k / groups;
  if (groups > 1 && group % 32 != 0)
    return bad(Unsupported("tensor '{}' has groups of {} columns", scales.name, group));
  return Keep(scales, "groups", "columns", group, [&](const QuantisedForm& form) {
    return form.group_size == -1 ? matrix_.k : form.group_size;
  });
}

Result<void> MatrixReader::ReadScales() {
  const StoredTensor& scales = *TRY(Part(layout_.scales, false));
  if (!IsFloat(scales.type)) TRY(CheckType(scales, StorageType::kF16));
  if (scales.shape.rank() != 2) return BadPart(scales, "wrong shape").Got("{}", scales.shape);
  TRY(CheckGroups(scales));
  const int64_t groups = scales.shape[layout_.transposed ? 0 : 1];
  TRY(CheckShape(scales, Oriented(matrix_.n, groups)));
  matrix_.group = matrix_.k / groups;
  matrix_.scales = scales;
  matrix_.scales_transposed = layout_.transposed;
  return {};
}

Result<void> MatrixReader::ReadZeros() {
  const StoredTensor* tensor = TRY(Part(layout_.zeros, IsOptional(&QuantisedForm::has_zeros)));
  if (tensor == nullptr) return {};
  TRY(CheckType(*tensor, StorageType::kI32));
  const int64_t per_word = 32 / matrix_.q.bits;
  const int64_t words = (matrix_.n + per_word - 1) / per_word;
  TRY(CheckShape(*tensor, Oriented(words, matrix_.groups())));
  PackedIntegers zeros{.words = tensor->bytes.data(),
                       .bits = matrix_.q.bits,
                       .along_rows = true,
                       .order = layout_.order};
  SetStrides(tensor->shape, zeros);
  matrix_.zeros = zeros;
  matrix_.zero_bias = format_.zero_bias;
  return {};
}

Result<void> MatrixReader::ReadGroupIndex() {
  const StoredTensor* tensor =
      TRY(Part(layout_.group_index, IsOptional(&QuantisedForm::has_group_index)));
  if (tensor == nullptr) return {};
  TRY(CheckType(*tensor, StorageType::kI32));
  TRY(CheckShape(*tensor, {matrix_.k}));
  bool in_order = true;
  std::vector<int32_t> group_of(static_cast<size_t>(matrix_.k));
  for (int64_t j = 0; j < matrix_.k; ++j) {
    group_of[j] = Load<int32_t>(tensor->bytes.data() + 4 * j);
    in_order = in_order && group_of[j] == j / matrix_.group;
    if (group_of[j] < 0 || group_of[j] >= matrix_.groups()) {
      return BadPart(*tensor, fmt::format("column {} is of no group", j))
          .Want("0 … {}", matrix_.groups() - 1)
          .Got("{}", group_of[j]);
    }
  }
  if (!in_order) matrix_.group_of = std::move(group_of);
  return {};
}

Result<void> MatrixReader::Run(const StoredTensor& integers, StoredTensor& joined,
                               std::set<std::string_view>& used) {
  layer_ = integers.name.substr(0, integers.name.size() - layout_.integers.size());
  TRY(ReadIntegers(integers));
  TRY(ReadScales());
  TRY(ReadZeros());
  TRY(ReadGroupIndex());
  for (const StoredTensor* part : parts_) {
    used.insert(part->name);
    matrix_.side_bytes += part->bytes.size();
  }
  joined = integers;
  joined.name = layer_ + ".weight";
  joined.shape = {matrix_.n, matrix_.k};
  joined.type = matrix_.q.bits == 4 ? StorageType::kGroups4 : StorageType::kGroups8;
  if (tensors_.contains(joined.name))
    return BadPart(integers, fmt::format("'{}' is there too", joined.name));
  joined.grouped = std::make_shared<const GroupedMatrix>(std::move(matrix_));
  return {};
}

Failure NoQuantisation(const StoredTensor& tensor, const std::string& where) {
  return InvalidInput("tensor '{}' is of a quantised matrix, but config.json names no quantisation",
                      tensor.name)
      .At("{}", where)
      .Want("quantization_config in config.json, or quantize_config.json beside it")
      .Remedy("Download the model's own config.json");
}

}  // namespace

Result<void> JoinQuantised(CheckpointParts& parts) {
  const auto format = TRY(ReadQuantisedFormat(parts.config, parts.where + "/config.json"));
  MatrixReader::Tensors tensors;
  for (const StoredTensor& tensor : parts.tensors) tensors.emplace(tensor.name, &tensor);
  std::map<std::string_view, StoredTensor> joined;  // by the name of the integers
  std::set<std::string_view> used;
  for (const StoredTensor& tensor : parts.tensors) {
    const std::string_view suffix = IntegersSuffix(tensor.name);
    if (suffix.empty()) continue;
    if (!format) return NoQuantisation(tensor, parts.where);
    if (suffix != format->layout->integers) continue;
    TRY(MatrixReader(*format, tensors, parts.where).Run(tensor, joined[tensor.name], used));
  }
  std::vector<StoredTensor> result;
  for (const StoredTensor& tensor : parts.tensors) {
    const auto matrix = joined.find(tensor.name);
    if (matrix != joined.end())
      result.push_back(std::move(matrix->second));
    else if (!used.contains(tensor.name))
      result.push_back(tensor);
  }
  parts.tensors = std::move(result);
  return {};
}

}  // namespace hexlane
