/* Hexlane in C: what other languages bind to. C99.
 *
 *   hexlane_error* error = NULL;
 *   hexlane_engine* engine = NULL;
 *   if (hexlane_engine_open("model.hxl", NULL, &engine, &error) != HEXLANE_OK)
 *     fprintf(stderr, "%s\n", hexlane_error_message(error));
 *
 * Handles are opaque; each has one owner, who ends it with the _free function of its type (NULL is
 * allowed there). A NULL handle or result pointer anywhere else is HEXLANE_USAGE, never a crash.
 *
 * Errors. Functions that can fail give a hexlane_code. Where `error` is not NULL and the function
 * fails, *error becomes an object that the caller frees; otherwise it is left alone. The library
 * never prints, exits or throws.
 *
 * Text is UTF-8 with its length in bytes; what the library gives is whole characters, also when it
 * comes piece by piece.
 *
 * Structs start with their size, which the caller sets by HEXLANE_INIT(struct name): a program
 * keeps working with a later library, whose structs have more fields at the end. A field that this
 * library does not know and that is not zero is HEXLANE_UNSUPPORTED. Zero is every field's default.
 *
 * Threads. An engine may be used from any thread; its sessions' runs take turns. A session and what
 * comes of it is for one thread at a time, except where a function says otherwise. Callbacks come
 * on the thread that the function was called on, and must not call functions of their session other
 * than hexlane_session_cancel. */
#ifndef HEXLANE_HEXLANE_H_
#define HEXLANE_HEXLANE_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define HEXLANE_API __attribute__((visibility("default")))
#else
#define HEXLANE_API
#endif

/* The version of this interface. A library serves programs of its own major version. */
#define HEXLANE_API_MAJOR 1
#define HEXLANE_API_MINOR 0

typedef int32_t hexlane_code;
enum {
  HEXLANE_OK = 0,
  HEXLANE_USAGE = 1,         /* the request itself makes no sense */
  HEXLANE_INVALID_INPUT = 2, /* well-formed, but does not fit: a long prompt, a bad token */
  HEXLANE_CORRUPT = 3,       /* malformed bytes: truncated, checksum mismatch */
  HEXLANE_UNSUPPORTED = 4,   /* valid, but not handled */
  HEXLANE_NOT_FOUND = 5,     /* a named file or entry is not there */
  HEXLANE_IO = 6,            /* the operating system refused: permission, disk full */
  HEXLANE_ENVIRONMENT = 7,   /* a library, a device or memory is missing */
  HEXLANE_VENDOR = 8,        /* the vendor library returned an error or crashed */
  HEXLANE_CHECK_FAILED = 9,  /* a verification ran and its verdict is negative */
  HEXLANE_CANCELLED = 10     /* the caller stopped it */
};

typedef struct hexlane_error hexlane_error;
typedef struct hexlane_engine hexlane_engine;
typedef struct hexlane_load hexlane_load;
typedef struct hexlane_session hexlane_session;
typedef struct hexlane_result hexlane_result;
typedef struct hexlane_stream hexlane_stream;

/* ---- library -------------------------------------------------------------------------------- */

HEXLANE_API const char* hexlane_version(void); /* "0.1.0" */
HEXLANE_API int32_t hexlane_api_version(void); /* 100 × major + minor, of the library */
HEXLANE_API const char* hexlane_code_name(hexlane_code code); /* "invalid input" */

/* For what functions hand over as `char**` and `int32_t**`. NULL is allowed. */
HEXLANE_API void hexlane_free(void* memory);

/* ---- errors: texts live as long as the object, and are "" where there is nothing to say --------
 */

HEXLANE_API hexlane_code hexlane_error_code(const hexlane_error* error);
HEXLANE_API const char* hexlane_error_message(const hexlane_error* error); /* all of these in one */
HEXLANE_API const char* hexlane_error_what(const hexlane_error* error);
HEXLANE_API const char* hexlane_error_where(const hexlane_error* error);
HEXLANE_API const char* hexlane_error_want(const hexlane_error* error);
HEXLANE_API const char* hexlane_error_got(const hexlane_error* error);
HEXLANE_API const char* hexlane_error_remedy(const hexlane_error* error);
HEXLANE_API void hexlane_error_free(hexlane_error* error);

/* ---- engine: an opened package ----------------------------------------------------------------
 */

enum {
  HEXLANE_LOAD_FILES = 0, /* comparing checksums */
  HEXLANE_LOAD_TEXT = 1,  /* tokenizer, chat template */
  HEXLANE_LOAD_PARTS = 2, /* weights, binaries for the NPU */
  HEXLANE_LOAD_READY = 3
};

/* Bytes done and to do of this phase; 0 of 0 where it has none. false cancels. */
typedef bool (*hexlane_on_load)(int32_t phase, uint64_t done, uint64_t total, void* user);

typedef struct hexlane_engine_options {
  size_t struct_size;
  const char* backend;        /* "auto", "cpu", "htp" or a variant's name; NULL: auto */
  const char* soc;            /* consider only this SoC's variants; NULL: any */
  const char* vendor_library; /* path of libQnnHtp.so; NULL: search */
  uint64_t memory_limit;      /* bytes that a variant may need; 0: what is available */
  int32_t threads;            /* 0: as many as this process may use */
  int32_t context;            /* positions a session holds; 0: as many as the variant has */
  bool skip_file_check;       /* do not compare the files' SHA-256 with the manifest */
  const char* skel_dir;       /* folder of the DSP's libQnnHtpV*Skel.so; NULL: vendor_library's */
  /* A folder kept between starts: files are checked once until they change, and an NPU load that
   * crashed or stalled is not repeated by "auto". NULL: neither. */
  const char* cache_dir;
  hexlane_on_load on_progress; /* while loading, on the thread that loads; NULL: none */
  void* user;                  /* handed to it */
} hexlane_engine_options;

/* `options` may be NULL. */
HEXLANE_API hexlane_code hexlane_engine_open(const char* package,
                                             const hexlane_engine_options* options,
                                             hexlane_engine** engine, hexlane_error** error);
/* Sessions keep what they need of the engine: it may go before them. */
HEXLANE_API void hexlane_engine_free(hexlane_engine* engine);

/* The same in the background. `start` reads the manifest, in milliseconds; the rest is done by a
 * thread of the library, where on_progress is called. `options` and what it points at are copied,
 * but for `user`. */
HEXLANE_API hexlane_code hexlane_load_start(const char* package,
                                            const hexlane_engine_options* options,
                                            hexlane_load** load, hexlane_error** error);
/* From any thread: it ends at the next file or part, with HEXLANE_CANCELLED. */
HEXLANE_API void hexlane_load_cancel(hexlane_load* load);
HEXLANE_API bool hexlane_load_done(const hexlane_load* load);
/* Waits for the end. Once. */
HEXLANE_API hexlane_code hexlane_load_finish(hexlane_load* load, hexlane_engine** engine,
                                             hexlane_error** error);
/* Cancels what still runs, and waits for its end. */
HEXLANE_API void hexlane_load_free(hexlane_load* load);

/* Runs a token and a piece of prompt and forgets them, so that the first real ones need not wait
 * for pages of weights or the device. Takes as long as they. */
HEXLANE_API hexlane_code hexlane_engine_warm_up(const hexlane_engine* engine,
                                                hexlane_error** error);

enum {
  HEXLANE_TRIM_PAGES = 0, /* mapped weights: read again from storage, page by page */
  HEXLANE_TRIM_ALL = 1    /* and what is on the NPU: loaded again whole */
};
/* Gives back memory that can be had again, when the system asks; waits for a step that runs.
 * Sessions stay as they are, the next step takes longer. */
HEXLANE_API void hexlane_engine_trim(const hexlane_engine* engine, int32_t level);

/* What was opened; texts live as long as the engine. */
typedef struct hexlane_info {
  size_t struct_size;
  const char* source;          /* the checkpoint */
  const char* architecture;    /* "llama" */
  const char* scheme;          /* of the weights: "w4a16" */
  const char* variant;         /* that was loaded */
  const char* soc;             /* its SoC; "" for the CPU */
  const char* backends;        /* of its parts, in order: "qnn", "cpu", "qnn,cpu" */
  const char* fallback_reason; /* of "auto": why no NPU is used; "" when one is */
  int32_t layers;
  int32_t vocab;
  int32_t context;     /* positions that a session can hold */
  int32_t max_context; /* positions that the checkpoint was trained for */
  int32_t threads;
  double load; /* seconds */
} hexlane_info;

/* Fills as much of `info` as its struct_size allows. */
HEXLANE_API void hexlane_engine_info(const hexlane_engine* engine, hexlane_info* info);

/* *ids: [*count], to be given to hexlane_free. `add_special_tokens`: BOS and the like. With
 * `parse_special`, texts of special tokens become those; false for untrusted text. */
HEXLANE_API hexlane_code hexlane_encode(const hexlane_engine* engine, const char* text, size_t size,
                                        bool add_special_tokens, bool parse_special, int32_t** ids,
                                        size_t* count, hexlane_error** error);

/* *text: *size bytes and a zero, to be given to hexlane_free. */
HEXLANE_API hexlane_code hexlane_decode(const hexlane_engine* engine, const int32_t* ids,
                                        size_t count, bool skip_special, char** text, size_t* size,
                                        hexlane_error** error);

/* The prompt of a conversation by the model's chat template; `messages` is a JSON array of
 * {"role", "content"}. Encode it without special tokens: templates write their own. */
HEXLANE_API hexlane_code hexlane_render_chat(const hexlane_engine* engine, const char* messages,
                                             size_t messages_size, char** text, size_t* size,
                                             hexlane_error** error);

/* ---- session: one conversation, its KV cache
 * ----------------------------------------------------- */

/* Allocates all that a session ever needs. */
HEXLANE_API hexlane_code hexlane_session_new(const hexlane_engine* engine,
                                             hexlane_session** session, hexlane_error** error);
HEXLANE_API void hexlane_session_free(hexlane_session* session);

HEXLANE_API int64_t hexlane_session_position(const hexlane_session* session); /* tokens cached */
HEXLANE_API int64_t hexlane_session_capacity(const hexlane_session* session);

/* Forgets all tokens from `position` on. */
HEXLANE_API hexlane_code hexlane_session_rewind(hexlane_session* session, int64_t position,
                                                hexlane_error** error);

/* Rewinds to the longest common beginning of the cache and `ids`, leaving at least one of them to
 * run, and gives its length: the prompt is ids + that. For the turns of a chat. */
HEXLANE_API int64_t hexlane_session_keep_common_prefix(hexlane_session* session, const int32_t* ids,
                                                       size_t count);

/* From any thread: the run that is going on, if any, ends after its token with
 * HEXLANE_FINISH_CANCELLED, or during its prompt with HEXLANE_CANCELLED. */
HEXLANE_API void hexlane_session_cancel(hexlane_session* session);

/* ---- generation
 * ------------------------------------------------------------------------------------ */

typedef struct hexlane_token {
  size_t struct_size; /* set by the library */
  const char* text;   /* whole characters, may be empty; valid during the call */
  size_t text_size;
  int32_t id;    /* -1 at the very end, for text that was held back until then */
  int32_t index; /* 0 for the first generated token */
} hexlane_token;

/* false cancels. */
typedef bool (*hexlane_on_token)(const hexlane_token* token, void* user);
/* After each chunk of the prompt, with the tokens done and to do; false cancels. */
typedef bool (*hexlane_on_prefill)(int32_t done, int32_t total, void* user);

typedef struct hexlane_generate_options {
  size_t struct_size;
  int32_t max_tokens;        /* 0: until the context is full */
  float temperature;         /* 0: greedy */
  int32_t top_k;             /* 0: off */
  float top_p;               /* 1 and 0: off */
  float min_p;               /* 0: off */
  float repetition_penalty;  /* 1 and 0: off */
  int32_t repetition_window; /* last tokens that it counts; 0: 64, -1: all */
  uint64_t seed;
  const char* const* stop; /* [stop_count]: generation ends before any of these texts */
  size_t stop_count;
  bool ignore_eos;
  hexlane_on_token on_token; /* NULL: none */
  hexlane_on_prefill on_prefill;
  void* user; /* handed to the callbacks */
} hexlane_generate_options;

enum {
  HEXLANE_FINISH_STOP = 0,        /* an end-of-sequence token */
  HEXLANE_FINISH_LENGTH = 1,      /* max_tokens */
  HEXLANE_FINISH_STOP_STRING = 2, /* one of `stop` */
  HEXLANE_FINISH_CONTEXT = 3,     /* no position left */
  HEXLANE_FINISH_CANCELLED = 4,
  HEXLANE_FINISH_TOO_HOT = 5 /* the device reached its critical temperature */
};

/* Seconds and counts of one generation. */
typedef struct hexlane_stats {
  size_t struct_size;
  int32_t prompt_tokens;
  int32_t generated_tokens;
  double load;        /* of the engine */
  double first_token; /* from the call to the first sampled token */
  double prefill;
  double decode;        /* after the first token */
  double prefill_tok_s; /* tokens per second */
  double decode_tok_s;
  double execute; /* of all: inside the backend */
  uint64_t peak_rss_bytes;
} hexlane_stats;

/* Appends the prompt's tokens and generates. `options` may be NULL; so may `result`, where the
 * callback is enough. */
HEXLANE_API hexlane_code hexlane_generate(hexlane_session* session, const int32_t* prompt,
                                          size_t count, const hexlane_generate_options* options,
                                          hexlane_result** result, hexlane_error** error);

/* Texts and tokens live as long as the result. */
HEXLANE_API const char* hexlane_result_text(const hexlane_result* result, size_t* size);
HEXLANE_API const int32_t* hexlane_result_tokens(const hexlane_result* result, size_t* count);
HEXLANE_API int32_t hexlane_result_finish_reason(const hexlane_result* result);
/* Fills as much of `stats` as its struct_size allows. */
HEXLANE_API void hexlane_result_stats(const hexlane_result* result, hexlane_stats* stats);
HEXLANE_API void hexlane_result_free(hexlane_result* result);

/* ---- streams: generation on a thread of the library, read at the caller's pace
 * ------------------------
 *
 * The decoding thread runs no code of the caller and never waits for one who reads slowly. */

typedef struct hexlane_event {
  size_t struct_size;
  const char* text; /* all that came since the last event; valid until the next call */
  size_t text_size;
  const int32_t* ids; /* [id_count], the tokens of it */
  size_t id_count;
  int32_t prompt_done; /* tokens of the prompt */
  int32_t prompt_total;
  bool done; /* nothing comes after this; hexlane_stream_finish has the result */
} hexlane_event;

/* Starts hexlane_generate. `prompt` and what `options` point at are copied; its callbacks must be
 * NULL. Until hexlane_stream_free the session must not be used but for hexlane_session_cancel. */
HEXLANE_API hexlane_code hexlane_stream_start(hexlane_session* session, const int32_t* prompt,
                                              size_t count, const hexlane_generate_options* options,
                                              hexlane_stream** stream, hexlane_error** error);

/* Waits until there is something to read, for `timeout_ms` at most (-1: any time); after a timeout
 * the event is empty. */
HEXLANE_API hexlane_code hexlane_stream_next(hexlane_stream* stream, int32_t timeout_ms,
                                             hexlane_event* event, hexlane_error** error);

/* Waits for the end; the generation's result or error. Once. */
HEXLANE_API hexlane_code hexlane_stream_finish(hexlane_stream* stream, hexlane_result** result,
                                               hexlane_error** error);

/* Cancels what still runs, and waits for its end (a token's time, or a chunk's of the prompt). */
HEXLANE_API void hexlane_stream_free(hexlane_stream* stream);

#ifdef __cplusplus
}
/* hexlane_stats stats = HEXLANE_INIT(hexlane_stats); */
#define HEXLANE_INIT(type) (type{sizeof(type)})
#else
#define HEXLANE_INIT(type) ((type){.struct_size = sizeof(type)})
#endif

#endif /* HEXLANE_HEXLANE_H_ */
