package dev.hexlane

/** Which of a package's variants runs, and with what. */
public class LoadOptions(
    /** `auto` (the NPU, else the CPU), `cpu`, `htp` (an NPU or nothing) or a variant's name. */
    public val backend: String = "auto",
    /** Consider only this SoC's variants: `SM8650`. Null: any. */
    public val soc: String? = null,
    /** Path of libQnnHtp.so. Null: searched. */
    public val vendorLibrary: String? = null,
    /** Folder of the DSP's `libQnnHtpV*Skel.so`. Null: [vendorLibrary]'s. */
    public val skelDir: String? = null,
    /**
     * A folder that is kept between starts, an app's `cacheDir`: files are checked once until they change, and a load on the
     * NPU that crashed or stalled is not repeated by `auto`, which says so in [ModelInfo.fallbackReason]. Null: neither.
     */
    public val cacheDir: String? = null,
    /** Bytes that a variant may need. 0: what is available. */
    public val memoryLimit: Long = 0,
    /** 0: as many as this process may use. */
    public val threads: Int = 0,
    /** Positions that a session holds. 0: as many as the variant has. */
    public val context: Int = 0,
    /** Compare every file's SHA-256 with the manifest. */
    public val checkFiles: Boolean = true,
)

/** How far loading is: bytes of this phase, 0 of 0 where it has none. */
public class LoadProgress internal constructor(
    public val phase: LoadPhase,
    public val done: Long,
    public val total: Long,
)

public enum class LoadPhase {
    /** Checksums are compared. */
    FILES,

    /** Tokenizer and chat template. */
    TEXT,

    /** Weights, and binaries for the NPU. */
    PARTS,
    READY,
}

/** What [Model.trim] gives back. */
public enum class TrimLevel {
    /** Mapped weights: read again from storage, page by page. */
    PAGES,

    /** And what is on the NPU: loaded again whole. */
    ALL,
}

/** What was loaded. */
public class ModelInfo internal constructor(
    texts: List<String>,
    numbers: DoubleArray,
) {
    public val source: String = texts[0]
    public val architecture: String = texts[1]
    public val scheme: String = texts[2]
    public val variant: String = texts[3]

    /** Empty for the CPU. */
    public val soc: String = texts[4]
    public val backends: List<String> = texts[5].split(",")

    /** Why no NPU is used though `auto` looked for one; empty when one is. */
    public val fallbackReason: String = texts[6]
    public val layers: Int = numbers[0].toInt()
    public val vocabulary: Int = numbers[1].toInt()

    /** Positions that a session holds. */
    public val context: Int = numbers[2].toInt()
    public val trainedContext: Int = numbers[3].toInt()
    public val threads: Int = numbers[4].toInt()
    public val loadSeconds: Double = numbers[5]
}

/** How tokens are chosen and when generation ends. Zero is off, but for [maxTokens]. */
public class GenerateOptions(
    /** 0: until the context is full. */
    public val maxTokens: Int = 0,
    /** 0: greedy. */
    public val temperature: Float = 0f,
    public val topK: Int = 0,
    public val topP: Float = 0f,
    public val minP: Float = 0f,
    public val repetitionPenalty: Float = 0f,
    /** Last tokens that the penalty counts. 0: 64, -1: all. */
    public val repetitionWindow: Int = 0,
    public val seed: Long = 0,
    /** Generation ends before any of these texts. */
    public val stop: List<String> = emptyList(),
    public val ignoreEos: Boolean = false,
)

/** One message of a conversation. */
public class Message(
    /** `system`, `user`, `assistant` or `tool`. */
    public val role: String,
    public val content: String,
)
