package dev.hexlane

/** What [Session.generate] gives, in this order: any number of [Prompt] and [Tokens], then one [Done]. */
public sealed interface Generation {
    /** So many tokens of the prompt have run. */
    public class Prompt(
        public val done: Int,
        public val total: Int,
    ) : Generation

    /** Generated since the last one: one token, or several when they are collected more slowly than they come. */
    public class Tokens(
        /** Whole characters; empty while one is unfinished. */
        public val text: String,
        public val ids: List<Int>,
    ) : Generation

    public class Done(
        public val reason: FinishReason,
        public val statistics: Statistics,
    ) : Generation
}

public enum class FinishReason {
    /** An end-of-sequence token. */
    STOP,

    /** [GenerateOptions.maxTokens]. */
    LENGTH,

    /** One of [GenerateOptions.stop]. */
    STOP_STRING,

    /** No position left. */
    CONTEXT,
    CANCELLED,

    /** The device reached its critical temperature. */
    TOO_HOT,
}

/** Seconds and counts of one generation. */
public class Statistics internal constructor(
    numbers: DoubleArray,
) {
    public val promptTokens: Int = numbers[1].toInt()
    public val generatedTokens: Int = numbers[2].toInt()
    public val loadSeconds: Double = numbers[3]

    /** From the call to the first sampled token. */
    public val firstTokenSeconds: Double = numbers[4]
    public val prefillSeconds: Double = numbers[5]

    /** After the first token. */
    public val decodeSeconds: Double = numbers[6]
    public val prefillTokensPerSecond: Double = numbers[7]
    public val decodeTokensPerSecond: Double = numbers[8]

    /** Of all: inside the backend. */
    public val executeSeconds: Double = numbers[9]
    public val peakRssBytes: Long = numbers[10].toLong()
}

internal fun doneFrom(numbers: DoubleArray): Generation.Done =
    Generation.Done(FinishReason.entries[numbers[0].toInt()], Statistics(numbers))
