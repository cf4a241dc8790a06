package dev.hexlane

/**
 * The functions of libhexlane_jni.so, each over one of `hexlane.h`. Handles are addresses: [Handle] sees to it that none
 * is used after it was freed. Text crosses as UTF-8 bytes.
 */
internal object Native {
    init {
        System.loadLibrary("hexlane_jni")
    }

    @JvmStatic
    external fun version(): ByteArray

    @JvmStatic
    external fun loadStart(
        path: ByteArray,
        backend: ByteArray?,
        soc: ByteArray?,
        vendorLibrary: ByteArray?,
        skelDir: ByteArray?,
        cacheDir: ByteArray?,
        memoryLimit: Long,
        threads: Int,
        context: Int,
        skipFileCheck: Boolean,
        progress: NativeProgress?,
    ): Long

    @JvmStatic
    external fun loadCancel(load: Long)

    @JvmStatic
    external fun loadFinish(load: Long): Long

    @JvmStatic
    external fun loadFree(load: Long)

    @JvmStatic
    external fun engineWarmUp(engine: Long)

    @JvmStatic
    external fun engineTrim(
        engine: Long,
        level: Int,
    )

    @JvmStatic
    external fun engineFree(engine: Long)

    @JvmStatic
    external fun engineTexts(engine: Long): Array<ByteArray>

    @JvmStatic
    external fun engineNumbers(engine: Long): DoubleArray

    @JvmStatic
    external fun encode(
        engine: Long,
        text: ByteArray,
        addSpecial: Boolean,
        parseSpecial: Boolean,
    ): IntArray

    @JvmStatic
    external fun decode(
        engine: Long,
        ids: IntArray,
        skipSpecial: Boolean,
    ): ByteArray

    @JvmStatic
    external fun renderChat(
        engine: Long,
        messages: ByteArray,
    ): ByteArray

    @JvmStatic
    external fun sessionNew(engine: Long): Long

    @JvmStatic
    external fun sessionFree(session: Long)

    @JvmStatic
    external fun sessionPosition(session: Long): Long

    @JvmStatic
    external fun sessionCapacity(session: Long): Long

    @JvmStatic
    external fun sessionRewind(
        session: Long,
        position: Long,
    )

    @JvmStatic
    external fun sessionKeepCommonPrefix(
        session: Long,
        ids: IntArray,
    ): Long

    @JvmStatic
    external fun sessionCancel(session: Long)

    @JvmStatic
    external fun streamStart(
        session: Long,
        prompt: IntArray,
        maxTokens: Int,
        temperature: Float,
        topK: Int,
        topP: Float,
        minP: Float,
        repetitionPenalty: Float,
        repetitionWindow: Int,
        seed: Long,
        stop: Array<ByteArray>,
        ignoreEos: Boolean,
    ): Long

    @JvmStatic
    external fun streamNext(
        stream: Long,
        timeoutMs: Int,
        event: NativeEvent,
    )

    @JvmStatic
    external fun streamFinish(stream: Long): DoubleArray

    @JvmStatic
    external fun streamFree(stream: Long)
}

/** Told by the native thread that loads. */
internal fun interface NativeProgress {
    /** False cancels. */
    fun onLoad(
        phase: Int,
        done: Long,
        total: Long,
    ): Boolean
}

/** What a stream gave since the last call; filled by native code. */
internal class NativeEvent {
    @JvmField
    var text: ByteArray = ByteArray(0)

    @JvmField
    var ids: IntArray = IntArray(0)

    @JvmField
    var promptDone: Int = 0

    @JvmField
    var promptTotal: Int = 0

    @JvmField
    var done: Boolean = false
}
