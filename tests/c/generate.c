/* c_generate PACKAGE PROMPT TOKENS [BACKEND]: greedy text and token ids by the C API alone, as a C99 program and
 * libhexlane.so's only user among the tests. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hexlane/hexlane.h"

static int Fail(hexlane_error* error) {
  fprintf(stderr, "c_generate: %s\n", hexlane_error_message(error));
  hexlane_error_free(error);
  return 1;
}

static void Print(const hexlane_result* result) {
  size_t count = 0;
  const int32_t* tokens = hexlane_result_tokens(result, &count);
  printf("[");
  for (size_t i = 0; i < count; ++i) printf("%s%d", i == 0 ? "" : ",", (int)tokens[i]);
  printf("]\n%s", hexlane_result_text(result, NULL));
}

static int Generate(hexlane_session* session, const int32_t* ids, size_t count, int tokens) {
  hexlane_error* error = NULL;
  hexlane_result* result = NULL;
  hexlane_generate_options options = HEXLANE_INIT(hexlane_generate_options);
  options.max_tokens = tokens;
  if (hexlane_generate(session, ids, count, &options, &result, &error) != HEXLANE_OK)
    return Fail(error);
  Print(result);
  hexlane_result_free(result);
  return 0;
}

static void NoteFallback(const hexlane_engine* engine) {
  hexlane_info info = HEXLANE_INIT(hexlane_info);
  hexlane_engine_info(engine, &info);
  if (*info.fallback_reason) fprintf(stderr, "c_generate: on the CPU: %s\n", info.fallback_reason);
}

static int Run(hexlane_engine* engine, const char* prompt, int tokens) {
  hexlane_error* error = NULL;
  hexlane_session* session = NULL;
  int32_t* ids = NULL;
  size_t count = 0;
  int status = 0;
  if (hexlane_encode(engine, prompt, strlen(prompt), true, true, &ids, &count, &error) != HEXLANE_OK ||
      hexlane_session_new(engine, &session, &error) != HEXLANE_OK)
    status = Fail(error);
  else
    status = Generate(session, ids, count, tokens);
  hexlane_free(ids);
  hexlane_session_free(session);
  return status;
}

int main(int argc, char** argv) {
  hexlane_error* error = NULL;
  hexlane_engine* engine = NULL;
  hexlane_engine_options options = HEXLANE_INIT(hexlane_engine_options);
  int status = 0;
  if (argc < 4) {
    fprintf(stderr, "usage: c_generate PACKAGE PROMPT TOKENS [BACKEND]\n");
    return 2;
  }
  if (argc > 4) options.backend = argv[4];
  if (hexlane_engine_open(argv[1], &options, &engine, &error) != HEXLANE_OK) return Fail(error);
  NoteFallback(engine);
  status = Run(engine, argv[2], atoi(argv[3]));
  hexlane_engine_free(engine);
  return status;
}
