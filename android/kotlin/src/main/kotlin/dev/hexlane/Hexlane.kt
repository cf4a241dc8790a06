package dev.hexlane

import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Job
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.ensureActive
import kotlinx.coroutines.isActive
import kotlinx.coroutines.job
import kotlinx.coroutines.withContext
import kotlinx.serialization.json.addJsonObject
import kotlinx.serialization.json.buildJsonArray
import kotlinx.serialization.json.put

/**
 * Language models on a phone's NPU, or its CPU.
 *
 * ```
 * Hexlane.loadModel(path).use { model ->
 *     model.newSession().use { session ->
 *         session.generate("The capital of France is").collect { if (it is Generation.Tokens) print(it.text) }
 *     }
 * }
 * ```
 */
public object Hexlane {
    /** Of the native library. */
    public val version: String get() = native { version() }.text()

    /**
     * Opens the package at `path`, on a native thread: seconds for a large one. `onProgress` is called on that thread and must
     * be quick; what it throws ends the load and comes out here. Cancelling the coroutine ends the load at its next file or part. Throws [HexlaneException].
     */
    public suspend fun loadModel(
        path: String,
        options: LoadOptions = LoadOptions(),
        onProgress: (LoadProgress) -> Unit = {},
    ): Model =
        withContext(Dispatchers.IO) {
            val listener = Listener(currentCoroutineContext().job, onProgress)
            val model = finish(native { start(path, options, listener) }, listener)
            if (!isActive) model.close()
            ensureActive()
            model
        }

    private fun CoroutineScope.finish(
        load: Long,
        listener: Listener,
    ): Model =
        try {
            Model(Native.loadFinish(load))
        } catch (error: HexlaneException.Cancelled) {
            ensureActive() // the coroutine's own cancellation is no failure
            throw listener.thrown ?: error
        } finally {
            Native.loadFree(load)
        }

    private class Listener(
        private val job: Job,
        private val tell: (LoadProgress) -> Unit,
    ) : NativeProgress {
        @Volatile
        var thrown: Throwable? = null

        override fun onLoad(
            phase: Int,
            done: Long,
            total: Long,
        ): Boolean {
            try {
                tell(LoadProgress(LoadPhase.entries[phase], done, total))
            } catch (error: Throwable) {
                thrown = error
            }
            return thrown == null && job.isActive
        }
    }

    private fun Native.start(
        path: String,
        options: LoadOptions,
        progress: NativeProgress,
    ): Long =
        loadStart(
            path.toByteArray(),
            options.backend.toByteArray(),
            options.soc?.toByteArray(),
            options.vendorLibrary?.toByteArray(),
            options.skelDir?.toByteArray(),
            options.cacheDir?.toByteArray(),
            options.memoryLimit,
            options.threads,
            options.context,
            !options.checkFiles,
            progress,
        )

    // An app without the library gets an exception that it can show.
    private fun <T> native(block: Native.() -> T): T =
        try {
            Native.block()
        } catch (error: LinkageError) {
            throw HexlaneException.Environment(
                "libhexlane_jni.so cannot be loaded",
                got = error.message.orEmpty(),
                remedy = "Package it for this processor (arm64-v8a), or set java.library.path",
                cause = error,
            )
        }
}

/** An opened model, for any thread. Sessions outlive it. */
public class Model internal constructor(
    engine: Long,
) : AutoCloseable {
    private val handle = Handle("model", engine, Native::engineFree)

    public val info: ModelInfo =
        handle.use { ModelInfo(Native.engineTexts(it).map(ByteArray::text), Native.engineNumbers(it)) }

    /** Token ids. `parseSpecial`: texts of special tokens become those; false for what a user typed. */
    public fun encode(
        text: String,
        addSpecialTokens: Boolean = true,
        parseSpecial: Boolean = true,
    ): IntArray = handle.use { Native.encode(it, text.toByteArray(), addSpecialTokens, parseSpecial) }

    public fun decode(
        ids: IntArray,
        skipSpecial: Boolean = true,
    ): String = handle.use { Native.decode(it, ids, skipSpecial) }.text()

    /** The prompt of a conversation, by the model's chat template: encode it without special tokens. */
    public fun renderChat(messages: List<Message>): String =
        handle.use { Native.renderChat(it, json(messages).toByteArray()) }.text()

    /** A conversation of its own. Allocates all that it ever needs. */
    public fun newSession(): Session = handle.use { Session(this, Native.sessionNew(it)) }

    /**
     * Runs a token and a piece of prompt and forgets them, so that the first real ones need not wait for pages of weights or
     * the device.
     */
    public suspend fun warmUp(): Unit = withContext(Dispatchers.IO) { handle.use(Native::engineWarmUp) }

    /** Gives back memory that can be had again, when the system asks. Sessions stay as they are; the next token takes longer. */
    public fun trim(level: TrimLevel) {
        handle.useIfOpen { Native.engineTrim(it, level.ordinal) }
    }

    override fun close(): Unit = handle.close()

    private fun json(messages: List<Message>): String =
        buildJsonArray {
            for (message in messages) {
                addJsonObject {
                    put("role", message.role)
                    put("content", message.content)
                }
            }
        }.toString()
}
