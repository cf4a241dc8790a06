package dev.hexlane

import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.runInterruptible
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

    /** Opens the package at `path`; takes seconds, on a thread of its own. Throws [HexlaneException]. */
    public suspend fun loadModel(
        path: String,
        options: LoadOptions = LoadOptions(),
    ): Model = runInterruptible(Dispatchers.IO) { Model(open(path, options)) }

    private fun open(
        path: String,
        options: LoadOptions,
    ): Long =
        native {
            engineOpen(
                path.toByteArray(),
                options.backend.toByteArray(),
                options.soc?.toByteArray(),
                options.vendorLibrary?.toByteArray(),
                options.memoryLimit,
                options.threads,
                options.context,
                !options.checkFiles,
            )
        }

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
