#include "backends/qnn/io/contract.h"

#include <algorithm>

namespace hexlane::qnn {
namespace {

constexpr int kContractVersion = 1;

constexpr std::string_view kRoleNames[] = {"ids",        "hidden",  "logits",    "cos",
                                           "sin",        "mask",    "last_row",  "past_key",
                                           "past_value", "new_key", "new_value", "tap"};

struct NamedType {
  DataType type;
  std::string_view name;
};
constexpr NamedType kTypes[] = {{DataType::kF16, "f16"},
                                {DataType::kF32, "f32"},
                                {DataType::kUFixed8, "u8"},
                                {DataType::kUFixed16, "u16"},
                                {DataType::kI32, "i32"}};

Json TensorToJson(const BoundTensor& tensor) {
  const TensorSpec& spec = tensor.info.spec;
  Json json = {{"name", tensor.info.name},
               {"id", tensor.info.id},
               {"role", kRoleNames[static_cast<size_t>(tensor.role)]},
               {"index", tensor.index},
               {"shape", std::vector<int64_t>(spec.shape.dims().begin(), spec.shape.dims().end())}};
  if (!tensor.value.empty()) json["value"] = tensor.value;
  for (const NamedType& type : kTypes)
    if (type.type == spec.type) json["type"] = type.name;
  if (const auto* quant = std::get_if<PerTensor>(&spec.quant)) {
    json["scale"] = quant->scale;
    json["offset"] = quant->offset;
  }
  return json;
}

Result<Role> ReadRole(const Json& json, std::string_view where) {
  const std::string name = TRY(JsonField<std::string>(json, "role", where));
  const auto* found = std::find(std::begin(kRoleNames), std::end(kRoleNames), name);
  if (found == std::end(kRoleNames)) return Corrupt("unknown role '{}'", name).At("{}", where);
  return static_cast<Role>(found - kRoleNames);
}

Result<DataType> ReadType(const Json& json, std::string_view where) {
  const std::string name = TRY(JsonField<std::string>(json, "type", where));
  for (const NamedType& type : kTypes)
    if (type.name == name) return type.type;
  return Corrupt("unknown data type '{}'", name).At("{}", where);
}

Result<Shape> ReadShape(const Json& json, std::string_view where) {
  const Json& array = *TRY(JsonArray(json, "shape", where));
  std::vector<int64_t> dims;
  for (const Json& dim : array) {
    if (!dim.is_number_integer() || dim.get<int64_t>() < 1 || dim.get<int64_t>() > UINT32_MAX)
      return Corrupt("bad dimension").At("{}: shape", where);
    dims.push_back(dim.get<int64_t>());
  }
  constexpr int64_t kMaxElements = int64_t{1} << 30;
  if (dims.size() > static_cast<size_t>(Shape::kMaxRank) ||
      TRY(CheckedElements(dims)) > kMaxElements)
    return Corrupt("tensor too large").At("{}: shape", where);
  return Shape(dims);
}

// The ranges of integers in a package that anybody may have edited.
Result<int> ReadInt(const Json& json, std::string_view key, int64_t min, int64_t max,
                    std::string_view where) {
  const int64_t value = TRY(JsonField<int64_t>(json, key, where));
  if (value < min || value > max)
    return Corrupt("{} is {}", key, value).At("{}", where).Want("{} … {}", min, max);
  return static_cast<int>(value);
}

Result<BoundTensor> ReadTensor(const Json& json, std::string_view where) {
  BoundTensor tensor;
  tensor.info.name = TRY(JsonField<std::string>(json, "name", where));
  const std::string here = fmt::format("{}: tensor {}", where, tensor.info.name);
  tensor.role = TRY(ReadRole(json, here));
  tensor.index = TRY(ReadInt(json, "index", 0, 1 << 16, here));
  tensor.value = TRY(JsonFieldOr<std::string>(json, "value", "", here));
  tensor.info.id = static_cast<uint32_t>(TRY(JsonField<int64_t>(json, "id", here)));
  tensor.info.spec.type = TRY(ReadType(json, here));
  tensor.info.spec.shape = TRY(ReadShape(json, here));
  if (json.contains("scale")) {
    PerTensor quant;
    quant.scale = static_cast<float>(TRY(JsonField<double>(json, "scale", here)));
    quant.offset = TRY(ReadInt(json, "offset", -(1 << 30), 1 << 30, here));
    if (!(quant.scale > 0)) return Corrupt("scale is not positive").At("{}", here);
    tensor.info.spec.quant = quant;
  }
  const bool integer = tensor.info.spec.type == DataType::kI32;
  if (integer != (tensor.role == Role::kLastRow || tensor.role == Role::kIds))
    return Corrupt("type does not fit role").At("{}", here);
  return tensor;
}

// The shape that a role has in a graph; -1 where any size is possible.
Shape RoleShape(Role role, const GraphContract& graph) {
  const int64_t rows = graph.rows, past = graph.past();
  switch (role) {
    case Role::kIds: return {1, rows};
    case Role::kMask: return {1, 1, rows, graph.context};
    case Role::kLastRow: return {1};
    case Role::kPastKey: return {-1, 1, -1, past};
    case Role::kPastValue: return {-1, 1, past, -1};
    case Role::kNewKey: return {-1, 1, -1, rows};
    case Role::kNewValue: return {-1, 1, rows, -1};
    case Role::kLogits:
    case Role::kTap: return {1, 1, -1, -1};
    default: return {1, 1, rows, -1};
  }
}

Result<void> CheckShape(const BoundTensor& tensor, const GraphContract& graph,
                        const Contract& contract, std::string_view where) {
  const Shape want = RoleShape(tensor.role, graph);
  const Shape& got = tensor.info.spec.shape;
  bool fits = want.rank() == got.rank();
  for (int i = 0; fits && i < want.rank(); ++i) fits = want[i] < 0 || want[i] == got[i];
  const bool rope = tensor.role == Role::kCos || tensor.role == Role::kSin;
  if (rope && fits)
    fits = static_cast<size_t>(tensor.index) < contract.ropes.size() &&
           got.last() == static_cast<int64_t>(contract.ropes[tensor.index].inv_freq.size());
  if (tensor.role == Role::kMask) fits &= static_cast<size_t>(tensor.index) < contract.masks.size();
  if ((tensor.role == Role::kLogits || tensor.role == Role::kTap) && fits)
    fits = got[2] == 1 || got[2] == graph.rows;
  if (fits) return {};
  return Corrupt("shape {} does not fit the tensor's role", got)
      .At("{}: graph {}, tensor {}", where, graph.name, tensor.info.name);
}

// Keys and values come in fours of one layer, of equal shape up to the number of positions and
// equal encodings.
Result<void> CheckCaches(const GraphContract& graph, std::string_view where) {
  for (const BoundTensor& fresh : graph.outputs) {
    const bool key = fresh.role == Role::kNewKey;
    if (!key && fresh.role != Role::kNewValue) continue;
    const Role want = key ? Role::kPastKey : Role::kPastValue;
    const auto past = std::find_if(graph.inputs.begin(), graph.inputs.end(), [&](const auto& in) {
      return in.role == want && in.index == fresh.index;
    });
    if (past == graph.inputs.end() && graph.past() == 0) continue;
    const int dim = key ? 2 : 3;
    if (past == graph.inputs.end() || past->info.spec.type != fresh.info.spec.type ||
        past->info.spec.shape[0] != fresh.info.spec.shape[0] ||
        past->info.spec.shape[dim] != fresh.info.spec.shape[dim])
      return Corrupt("no cache that fits '{}'", fresh.info.name)
          .At("{}: graph {}", where, graph.name);
  }
  return {};
}

Result<std::vector<BoundTensor>> ReadTensors(const Json& json, std::string_view key,
                                             std::string_view where) {
  std::vector<BoundTensor> tensors;
  for (const Json& tensor : *TRY(JsonArray(json, key, where)))
    tensors.push_back(TRY(ReadTensor(tensor, where)));
  return tensors;
}

Result<GraphContract> ReadGraph(const Json& json, const Contract& contract,
                                std::string_view where) {
  GraphContract graph;
  graph.name = TRY(JsonField<std::string>(json, "name", where));
  graph.file = TRY(JsonField<std::string>(json, "file", where));
  graph.context = TRY(ReadInt(json, "context", 1, 1 << 20, where));
  graph.rows = TRY(ReadInt(json, "rows", 1, graph.context, where));
  graph.inputs = TRY(ReadTensors(json, "inputs", where));
  graph.outputs = TRY(ReadTensors(json, "outputs", where));
  for (const BoundTensor& tensor : graph.inputs) TRY(CheckShape(tensor, graph, contract, where));
  for (const BoundTensor& tensor : graph.outputs) TRY(CheckShape(tensor, graph, contract, where));
  TRY(CheckCaches(graph, where));
  return graph;
}

Result<std::vector<float>> ReadFloats(const Json& json, std::string_view key,
                                      std::string_view where) {
  std::vector<float> values;
  for (const Json& value : *TRY(JsonArray(json, key, where))) {
    if (!value.is_number()) return Corrupt("not a number").At("{}: {}", where, key);
    values.push_back(value.get<float>());
  }
  return values;
}

Json GraphToJson(const GraphContract& graph) {
  Json inputs = Json::array(), outputs = Json::array();
  for (const BoundTensor& tensor : graph.inputs) inputs.push_back(TensorToJson(tensor));
  for (const BoundTensor& tensor : graph.outputs) outputs.push_back(TensorToJson(tensor));
  return {{"name", graph.name},       {"file", graph.file}, {"rows", graph.rows},
          {"context", graph.context}, {"inputs", inputs},   {"outputs", outputs}};
}

}  // namespace

Json ToJson(const Contract& contract) {
  Json ropes = Json::array(), masks = Json::array(), graphs = Json::array();
  for (const RopeTable& rope : contract.ropes)
    ropes.push_back({{"inv_freq", rope.inv_freq}, {"scale", rope.scale}});
  for (const Mask& mask : contract.masks)
    masks.push_back({{"window", mask.window}, {"hidden", mask.hidden}});
  for (const GraphContract& graph : contract.graphs) graphs.push_back(GraphToJson(graph));
  return {{"version", kContractVersion},
          {"soc", contract.soc},
          {"ropes", ropes},
          {"masks", masks},
          {"graphs", graphs}};
}

Result<Contract> ContractFromJson(const Json& json, std::string_view where) {
  const int64_t version = TRY(JsonField<int64_t>(json, "version", where));
  if (version != kContractVersion)
    return Unsupported("contract of version {}", version)
        .At("{}", where)
        .Want("{}", kContractVersion);
  Contract contract;
  contract.soc = static_cast<uint32_t>(TRY(ReadInt(json, "soc", 0, 1 << 20, where)));
  for (const Json& rope : *TRY(JsonArray(json, "ropes", where)))
    contract.ropes.push_back({TRY(ReadFloats(rope, "inv_freq", where)),
                              static_cast<float>(TRY(JsonField<double>(rope, "scale", where)))});
  for (const Json& mask : *TRY(JsonArray(json, "masks", where)))
    contract.masks.push_back({TRY(JsonField<int64_t>(mask, "window", where)),
                              static_cast<float>(TRY(JsonField<double>(mask, "hidden", where)))});
  for (const Json& graph : *TRY(JsonArray(json, "graphs", where)))
    contract.graphs.push_back(TRY(ReadGraph(graph, contract, where)));
  return contract;
}

}  // namespace hexlane::qnn
