package dev.hexlane.delivery

import dev.hexlane.HexlaneException
import kotlin.random.Random

/**
 * Runs `attempt` with the base of each mirror in turn until one succeeds. A failure that another mirror may not have goes to the
 * next at once; after each round there is a pause, unless no mirror may recover. What fails its checksum gets one more round.
 */
internal class Attempts(
    private val bases: List<String>,
    private val options: DownloadOptions,
) {
    private var preferred = 0 // the mirror that worked last

    suspend fun <T> run(
        what: String,
        progress: () -> Long = { 0 },
        attempt: suspend (base: String) -> T,
    ): T {
        var round = 0
        var corrupt = false
        while (true) {
            val before = progress()
            val outcome = tryMirrors(attempt)
            outcome.value?.let { return it.value }
            if (progress() > before) round = 0
            round += 1
            // Bytes that were damaged on the way come right the next time; a damaged copy never does.
            val once = outcome.last is HexlaneException.Corrupt && !corrupt
            corrupt = corrupt || once
            if (!(outcome.recovers || once) || round >= options.attempts) throw failure(what, outcome.last, round)
            options.pause(maxOf(pauseAfter(round), outcome.retryAfterMs))
        }
    }

    private class Success<T>(
        val value: T,
    )

    private class Outcome<T>(
        val value: Success<T>?,
        val last: Exception?,
        val recovers: Boolean,
        val retryAfterMs: Long,
    )

    private suspend fun <T> tryMirrors(attempt: suspend (String) -> T): Outcome<T> {
        val failures = mutableListOf<Exception>()
        for (turn in bases.indices) {
            val index = (preferred + turn) % bases.size
            try {
                val value = attempt(bases[index])
                preferred = index
                return Outcome(Success(value), null, true, 0)
            } catch (failure: TransientFailure) {
                failures += failure
            } catch (failure: HexlaneException) {
                if (failure is HexlaneException.Usage) throw failure
                failures += failure
            }
        }
        val passing = failures.filterIsInstance<TransientFailure>()
        return Outcome(null, failures.last(), passing.isNotEmpty(), passing.maxOfOrNull { it.retryAfterMs } ?: 0)
    }

    private fun pauseAfter(round: Int): Long {
        val pause = minOf(options.firstPauseMs shl minOf(round - 1, 16), options.longestPauseMs)
        return pause + Random.nextLong(pause / 2 + 1)
    }

    private fun failure(
        what: String,
        last: Exception?,
        rounds: Int,
    ): Exception =
        last as? HexlaneException
            ?: HexlaneException.Io(
                "could not download $what",
                got = last?.message.orEmpty(),
                remedy = "Tried $rounds times: check the connection; what has come is kept",
                cause = last,
            )
}
