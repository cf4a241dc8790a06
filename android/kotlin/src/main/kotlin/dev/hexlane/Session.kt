package dev.hexlane

import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.ensureActive
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.flow.flowOn
import java.util.concurrent.atomic.AtomicBoolean

// A cancelled collector is noticed after at most this, and a token.
private const val POLL_MS = 50

/**
 * One conversation: the tokens that the model has seen, and what it computed of them. One generation at a time: a second one
 * meanwhile is [HexlaneException.Usage]. Closing it ends what runs, and may be done from any thread.
 */
public class Session internal constructor(
    private val model: Model,
    session: Long,
) : AutoCloseable {
    private val handle = Handle("session", session, Native::sessionFree)
    private val busy = AtomicBoolean(false)

    /** Tokens that the model has seen, as of the last generation's end. */
    @Volatile
    public var position: Long = 0
        private set

    /** Tokens that it can hold. */
    public val capacity: Long = handle.use(Native::sessionCapacity)

    /** Forgets all tokens from `position` on. */
    public fun rewind(position: Long): Unit = exclusively { Native.sessionRewind(it, position) }

    /** Goes on with `prompt`; a new session puts the special tokens before it that the model wants. */
    public fun generate(
        prompt: String,
        options: GenerateOptions = GenerateOptions(),
    ): Flow<Generation> = stream(options) { model.encode(prompt, addSpecialTokens = Native.sessionPosition(it) == 0L) }

    /** Goes on with these tokens. */
    public fun generate(
        prompt: IntArray,
        options: GenerateOptions = GenerateOptions(),
    ): Flow<Generation> = stream(options) { prompt }

    /** The answer to a whole conversation, of which only what is new is run. */
    public fun chat(
        messages: List<Message>,
        options: GenerateOptions = GenerateOptions(),
    ): Flow<Generation> =
        stream(options) {
            val ids = model.encode(model.renderChat(messages), addSpecialTokens = false)
            ids.copyOfRange(Native.sessionKeepCommonPrefix(it, ids).toInt(), ids.size)
        }

    /**
     * The same without coroutines: on this thread, until the end or until `onEvent` gives false. An exception of `onEvent`
     * ends the generation and comes out here.
     */
    public fun generate(
        prompt: String,
        options: GenerateOptions,
        onEvent: (Generation) -> Boolean,
    ): Unit =
        exclusively { session ->
            val ids = model.encode(prompt, addSpecialTokens = Native.sessionPosition(session) == 0L)
            Stream(session, ids, options).use { stream ->
                while (!stream.done) if (!stream.next().all(onEvent)) return@exclusively
            }
        }

    /** Ends the generation that runs, if one does; it gives [FinishReason.CANCELLED]. */
    public fun cancel() {
        handle.useIfOpen(Native::sessionCancel)
    }

    override fun close(): Unit = handle.close(Native::sessionCancel)

    private fun stream(
        options: GenerateOptions,
        prompt: (Long) -> IntArray,
    ): Flow<Generation> =
        flow {
            exclusively { session ->
                Stream(session, prompt(session), options).use { stream ->
                    while (!stream.done) {
                        stream.next().forEach { emit(it) }
                        currentCoroutineContext().ensureActive()
                    }
                }
            }
        }.flowOn(Dispatchers.IO)

    private inline fun <T> exclusively(block: (Long) -> T): T =
        handle.use { session ->
            if (!busy.compareAndSet(false, true)) {
                throw HexlaneException.Usage("the session is generating already", remedy = "Use a session for each")
            }
            try {
                block(session)
            } finally {
                position = Native.sessionPosition(session)
                busy.set(false)
            }
        }
}

/** One generation on a native thread. */
private class Stream(
    session: Long,
    prompt: IntArray,
    options: GenerateOptions,
) : AutoCloseable {
    private val stream = start(session, prompt, options)
    private val event = NativeEvent()
    private var promptDone = 0
    var done = false
        private set

    /** What has come, waiting a moment for it; empty when nothing has. */
    fun next(): List<Generation> {
        Native.streamNext(stream, POLL_MS, event)
        return buildList {
            if (event.promptDone != promptDone) {
                promptDone = event.promptDone
                add(Generation.Prompt(promptDone, event.promptTotal))
            }
            if (event.ids.isNotEmpty() || event.text.isNotEmpty()) {
                add(Generation.Tokens(event.text.text(), event.ids.asList()))
            }
            if (event.done) add(finish())
        }
    }

    private fun finish(): Generation.Done {
        done = true
        return doneFrom(Native.streamFinish(stream))
    }

    override fun close(): Unit = Native.streamFree(stream)
}

private fun start(
    session: Long,
    prompt: IntArray,
    options: GenerateOptions,
): Long =
    Native.streamStart(
        session,
        prompt,
        options.maxTokens,
        options.temperature,
        options.topK,
        options.topP,
        options.minP,
        options.repetitionPenalty,
        options.repetitionWindow,
        options.seed,
        options.stop.map(String::toByteArray).toTypedArray(),
        options.ignoreEos,
    )
