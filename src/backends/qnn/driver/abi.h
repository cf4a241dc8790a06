// The binary interface of QNN core API 2.x (seen with 2.40: QAIRT 2.51), declared from observed
// facts; no vendor header is used. Handles are void*, calls return 0 for success, enums are 32 bits
// wide.
#ifndef HEXLANE_BACKENDS_QNN_DRIVER_ABI_H_
#define HEXLANE_BACKENDS_QNN_DRIVER_ABI_H_

#include <cstdarg>
#include <cstddef>
#include <cstdint>

namespace hexlane::qnn::abi {

using Handle = void*;
using Status = uint64_t;

enum class DataType : uint32_t {
  kI8 = 0x08,
  kI32 = 0x32,
  kU32 = 0x132,
  kF16 = 0x216,
  kF32 = 0x232,
  kSFixed8 = 0x308,
  kSFixed16 = 0x316,
  kSFixed32 = 0x332,
  kUFixed8 = 0x408,
  kUFixed16 = 0x416,
  kBool8 = 0x508,
};

enum class TensorType : uint32_t {
  kAppWrite = 0,  // graph input
  kAppRead = 1,   // graph output
  kNative = 3,    // inside the graph
  kStatic = 4,    // constant
};

enum class Defined : uint32_t { kYes = 1, kNo = 0x7fffffff };

enum class QuantEncoding : uint32_t {
  kScaleOffset = 0,
  kAxis = 1,
  kBits = 2,
  kBitsAxis = 3,
  kBlock = 4,
  kBlockExpansion = 5,
  kNone = 0x7fffffff,
};

enum class LogLevel : uint32_t { kError = 1, kWarning = 2, kInfo = 3, kVerbose = 4, kDebug = 5 };

enum class ParamKind : uint32_t { kScalar = 0, kTensor = 1 };

// real = (q + offset) * scale.
struct ScaleOffset {
  float scale = 0;
  int32_t offset = 0;
  friend bool operator==(const ScaleOffset&, const ScaleOffset&) = default;
};

struct AxisQuant {
  int32_t axis;
  uint32_t count;
  const ScaleOffset* scales;  // [count]
};

struct BitsAxisQuant {
  uint32_t bits;
  int32_t axis;
  uint32_t count;
  uint32_t padding;
  const float* scales;     // [count]
  const int32_t* offsets;  // NULL: zeros
};

struct BlockQuant {
  const uint32_t* block;      // [rank] elements per block along each dimension
  const ScaleOffset* scales;  // one per block, row order
};

// LPBQ: real = q * block_scales[channel * blocks + b] * scales[channel].
struct BlockExpansion {
  int32_t axis;
  uint32_t padding0;
  const ScaleOffset* scales;  // [channels]
  uint32_t blocks;            // per channel
  uint32_t scale_bits;
  uint32_t storage;  // 0: block scales are u8
  uint32_t padding1;
  const uint8_t* block_scales;  // [channels, blocks]
};

struct QuantizeParams {
  Defined definition = Defined::kNo;
  QuantEncoding encoding = QuantEncoding::kNone;
  union {
    ScaleOffset scale_offset;
    AxisQuant axis;
    BitsAxisQuant bits_axis;
    BlockQuant block;
    const BlockExpansion* expansion;
  };
  QuantizeParams() : bits_axis{} {}
};

struct ClientBuffer {
  void* data = nullptr;
  uint32_t bytes = 0;
};

struct TensorBody {
  uint32_t id = 0;
  const char* name = nullptr;
  TensorType type = TensorType::kNative;
  uint32_t format = 0;
  DataType data_type = DataType::kF32;
  QuantizeParams quant;
  uint32_t rank = 0;
  const uint32_t* dims = nullptr;
  uint32_t memory = 0;  // 0: raw pointer
  ClientBuffer buffer;
};

struct Tensor {
  uint32_t version = 1;
  TensorBody v1;
  std::byte v2_tail[24] = {};
};

struct Scalar {
  DataType type;
  union {
    uint32_t u32;
    int32_t i32;
    float f32;
    uint8_t b8;
    uint64_t room;
  };
};

struct Param {
  ParamKind kind;
  const char* name;
  union {
    Scalar scalar;
    Tensor tensor;
  };
  Param() : kind(ParamKind::kScalar), name(nullptr), tensor() {}
};

struct OpConfig {
  uint32_t version = 1;
  const char* name = nullptr;
  const char* package = "qti.aisw";
  const char* type = nullptr;
  uint32_t num_params = 0;
  const Param* params = nullptr;
  uint32_t num_inputs = 0;
  const Tensor* inputs = nullptr;
  uint32_t num_outputs = 0;
  const Tensor* outputs = nullptr;
};

struct Version {
  uint32_t major, minor, patch;
};

// Element of the null-terminated pointer arrays that create calls take: device, context and graph
// configs alike.
struct Config {
  uint32_t option = 0;  // 0: `custom` points at one of the Htp*Config below
  union {
    const void* custom;
    uint32_t value;
  };
};

struct HtpDeviceConfig {
  uint32_t option = 0;  // 0: SoC, 1: generation
  uint32_t padding = 0;
  uint32_t soc = 0;   // or the device's number, 0
  uint32_t arch = 0;  // HTP generation, 75
};

struct HtpContextConfig {
  uint32_t option = 0;  // 1: share weights between graphs; 7: prepare only
  alignas(8) bool on = false;
  uint64_t unused = 0;
};

struct HtpGraphConfig {
  uint32_t option = 0;  // 1 optimisation, 2 precision, 3 VTCM in MiB, 6 HVX threads
  union {
    uint32_t value;  // precision: 1 = f16
    struct {
      uint32_t type;  // 3: level
      float value;
    } optimization;
    uint64_t room[6];
  };
  HtpGraphConfig() : room{} {}
};

struct Provider {
  uint32_t backend;
  const char* name;
  Version core;
  Version backend_version;
  void* const functions[66];  // functions.def
};

struct SystemProvider {
  uint32_t backend;
  const char* name;
  Version version;
  void* const functions[5];  // functions.def
};

struct GraphInfo {
  uint32_t version;
  const char* name;
  uint32_t num_inputs;
  const Tensor* inputs;
  uint32_t num_outputs;
  const Tensor* outputs;
  uint32_t num_updateable;
  const Tensor* updateable;
  uint32_t blob_bytes;
  const void* blob;  // HtpGraphBlob when blob_bytes covers it
  uint32_t start_op, end_op;
};

struct BinaryInfo {
  uint32_t version;
  alignas(8) uint32_t backend;
  const char* build_id;
  Version core;
  Version backend_version;
  const char* soc;
  Version blob_version;
  uint64_t blob_bytes;
  uint32_t num_context_tensors;
  const Tensor* context_tensors;
  uint32_t num_graphs;
  const GraphInfo* graphs;
  const void* platform;
  uint32_t meta_bytes;
  const void* meta;  // HtpContextBlob when meta_bytes covers it
  uint32_t soc_id;
};

struct HtpContextBlob {
  uint32_t version;
  uint32_t arch;
};

struct HtpGraphBlob {
  uint32_t version;
  uint64_t spill_fill_bytes;
  uint32_t vtcm_bytes;
  uint32_t optimization_level;
  uint8_t dlbc;
  uint64_t hvx_threads;
};

using LogCallback = void (*)(const char* format, LogLevel level, uint64_t timestamp, va_list);

#define QNN_LAYOUT(Type, bytes) static_assert(sizeof(Type) == bytes)
#define QNN_OFFSET(Type, member, bytes) static_assert(offsetof(Type, member) == bytes)
QNN_LAYOUT(ScaleOffset, 8);
QNN_LAYOUT(AxisQuant, 16);
QNN_LAYOUT(BitsAxisQuant, 32);
QNN_OFFSET(BitsAxisQuant, scales, 16);
QNN_OFFSET(BitsAxisQuant, offsets, 24);
QNN_LAYOUT(BlockQuant, 16);
QNN_LAYOUT(BlockExpansion, 40);
QNN_OFFSET(BlockExpansion, blocks, 16);
QNN_OFFSET(BlockExpansion, block_scales, 32);
QNN_LAYOUT(QuantizeParams, 40);
QNN_OFFSET(QuantizeParams, scale_offset, 8);
QNN_LAYOUT(TensorBody, 112);
QNN_OFFSET(TensorBody, data_type, 24);
QNN_OFFSET(TensorBody, quant, 32);
QNN_OFFSET(TensorBody, rank, 72);
QNN_OFFSET(TensorBody, memory, 88);
QNN_OFFSET(TensorBody, buffer, 96);
QNN_LAYOUT(Tensor, 144);
QNN_OFFSET(Tensor, v1, 8);
QNN_LAYOUT(Scalar, 16);
QNN_OFFSET(Scalar, u32, 8);
QNN_LAYOUT(Param, 160);
QNN_OFFSET(Param, tensor, 16);
QNN_LAYOUT(OpConfig, 80);
QNN_OFFSET(OpConfig, num_params, 32);
QNN_OFFSET(OpConfig, outputs, 72);
QNN_LAYOUT(Config, 16);
QNN_LAYOUT(HtpDeviceConfig, 16);
QNN_OFFSET(HtpDeviceConfig, soc, 8);
QNN_LAYOUT(HtpContextConfig, 24);
QNN_OFFSET(HtpContextConfig, on, 8);
QNN_LAYOUT(HtpGraphConfig, 56);
QNN_OFFSET(HtpGraphConfig, value, 8);
QNN_OFFSET(Provider, core, 16);
QNN_OFFSET(Provider, functions, 40);
QNN_OFFSET(SystemProvider, functions, 32);
QNN_LAYOUT(GraphInfo, 88);
QNN_LAYOUT(BinaryInfo, 144);
QNN_OFFSET(BinaryInfo, build_id, 16);
QNN_OFFSET(BinaryInfo, blob_bytes, 72);
QNN_OFFSET(BinaryInfo, graphs, 104);
QNN_OFFSET(BinaryInfo, soc_id, 136);
QNN_OFFSET(GraphInfo, blob, 72);
#undef QNN_LAYOUT
#undef QNN_OFFSET

}  // namespace hexlane::qnn::abi

#endif  // HEXLANE_BACKENDS_QNN_DRIVER_ABI_H_
