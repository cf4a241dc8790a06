package dev.hexlane.delivery

import dev.hexlane.HexlaneException
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.async
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.ensureActive
import kotlinx.coroutines.launch
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeoutOrNull
import java.io.IOException
import java.net.HttpURLConnection
import java.net.URI
import java.net.URISyntaxException
import javax.net.ssl.SSLHandshakeException
import javax.net.ssl.SSLPeerUnverifiedException

private const val MAX_REDIRECTS = 10
private const val LONGEST_WAIT_MS = 300L
private const val TOO_MANY_REQUESTS = 429
private const val PERMANENT_REDIRECT = 308
private const val RANGE_NOT_SATISFIABLE = 416
private val REDIRECTS = setOf(301, 302, 303, 307, PERMANENT_REDIRECT)

/** Trying again may help: connection lost, stalled, server busy. */
internal class TransientFailure(
    message: String,
    val retryAfterMs: Long = 0,
    cause: Throwable? = null,
) : IOException(message, cause)

/** Bytes from `start` on. */
internal class Body(
    val start: Long,
    private val connection: HttpURLConnection,
) {
    /** Names this version of the file. */
    val validator: String? = connection.getHeaderField("ETag")?.takeIf { it.startsWith('"') }
    val stream: java.io.InputStream get() = connection.inputStream
}

/** GET over HttpURLConnection, which a phone has and java.net.http.HttpClient it has not. */
internal class Http(
    private val options: DownloadOptions,
) {
    /**
     * Gives the body to `use` on a thread that may block. `from`: wanted start; the body's is 0 where the server or `validator`
     * does not allow it. Cancelling closes the connection.
     */
    suspend fun <T> get(
        url: String,
        from: Long = 0,
        validator: String? = null,
        use: suspend (Body) -> T,
    ): T {
        var next = checked(url, null)
        repeat(MAX_REDIRECTS) {
            val answer = ask(open(next, from, validator), next, from, use)
            if (answer.redirect == null) {
                @Suppress("UNCHECKED_CAST")
                return answer.result as T
            }
            next = checked(answer.redirect, next)
        }
        throw HexlaneException.Io("redirected $MAX_REDIRECTS times", url)
    }

    private class Answer<T>(
        val redirect: String?,
        val result: T?,
    )

    private suspend fun <T> ask(
        connection: HttpURLConnection,
        url: URI,
        from: Long,
        use: suspend (Body) -> T,
    ): Answer<T> =
        closing(connection) {
            val status = translated(url) { connection.responseCode }
            if (status in REDIRECTS) {
                Answer(connection.getHeaderField("Location").orEmpty(), null)
            } else {
                Answer(null, translated(url) { use(body(connection, status, url, from)) })
            }
        }

    /** What the connection throws, as what it means; cancelled reads are cancellations. */
    private suspend inline fun <T> translated(
        url: URI,
        block: () -> T,
    ): T =
        try {
            block()
        } catch (error: IOException) {
            currentCoroutineContext().ensureActive()
            throw when (error) {
                is TransientFailure, is RangeRefused, is StorageFailure -> error
                is SSLHandshakeException, is SSLPeerUnverifiedException ->
                    HexlaneException.Io("the server is not trusted", "$url", got = error.message.orEmpty(), cause = error)
                else -> TransientFailure("${error.message ?: error} ($url)", cause = error)
            }
        }

    private fun open(
        url: URI,
        from: Long,
        validator: String?,
    ): HttpURLConnection {
        val connection = url.toURL().openConnection() as HttpURLConnection
        connection.connectTimeout = options.stallMs
        connection.readTimeout = options.stallMs
        connection.instanceFollowRedirects = false
        connection.setRequestProperty("Accept-Encoding", "identity")
        if (from > 0) connection.setRequestProperty("Range", "bytes=$from-")
        if (from > 0 && validator != null) connection.setRequestProperty("If-Range", validator)
        return connection
    }

    private fun body(
        connection: HttpURLConnection,
        status: Int,
        url: URI,
        from: Long,
    ): Body =
        when {
            status == HttpURLConnection.HTTP_OK -> Body(0, connection)
            status == HttpURLConnection.HTTP_PARTIAL && startOf(connection) == from -> Body(from, connection)
            status == RANGE_NOT_SATISFIABLE -> throw RangeRefused()
            status == TOO_MANY_REQUESTS || status >= HttpURLConnection.HTTP_INTERNAL_ERROR ->
                throw TransientFailure("HTTP $status from $url", retryAfter(connection))
            status == HttpURLConnection.HTTP_NOT_FOUND || status == HttpURLConnection.HTTP_GONE ->
                throw HexlaneException.NotFound("the server does not have the file", "$url", got = "HTTP $status")
            else -> throw HexlaneException.Io("the server refused", "$url", got = "HTTP $status")
        }

    // "bytes 100-199/200"
    private fun startOf(connection: HttpURLConnection): Long? =
        connection
            .getHeaderField("Content-Range")
            ?.removePrefix("bytes ")
            ?.substringBefore('-')
            ?.toLongOrNull()

    private fun retryAfter(connection: HttpURLConnection): Long =
        1000 * (connection.getHeaderField("Retry-After")?.toLongOrNull() ?: 0).coerceIn(0, options.longestPauseMs / 1000)

    /** Never from https to http, and http only to this machine or where allowed. */
    private fun checked(
        url: String,
        base: URI?,
    ): URI {
        val uri =
            try {
                if (base == null) URI(url) else base.resolve(url)
            } catch (error: URISyntaxException) {
                throw HexlaneException.Usage("not a URL", got = url, cause = error)
            } catch (error: IllegalArgumentException) {
                throw HexlaneException.Io("redirected to what is no URL", "$base", got = url, cause = error)
            }
        val local = uri.host in setOf("localhost", "127.0.0.1", "[::1]")
        val plain = uri.scheme == "http" && (local || options.allowHttp) && base?.scheme != "https"
        if (uri.scheme == "https" || plain) return uri
        throw HexlaneException.Usage("only https is taken", base?.toString().orEmpty(), got = url)
    }

    /**
     * Runs `block` where it may block, and disconnects at its end. A cancelled coroutine does not wait for a stalled read, which
     * some connections cannot be woken from: its thread ends by itself, at the latest after [DownloadOptions.stallMs], and
     * writes nothing more.
     */
    private suspend fun <T> closing(
        connection: HttpURLConnection,
        block: suspend () -> T,
    ): T {
        val work = CoroutineScope(Dispatchers.IO).async { block() }
        try {
            return work.await()
        } finally {
            if (work.isActive) {
                work.cancel()
                CoroutineScope(Dispatchers.IO).launch { connection.disconnect() }
                withContext(NonCancellable) { withTimeoutOrNull(LONGEST_WAIT_MS) { work.join() } }
            } else {
                connection.disconnect()
            }
        }
    }
}

/** The part that is here is longer than the file. */
internal class RangeRefused : IOException("HTTP 416")

/** This machine's disk, not the network, failed. */
internal class StorageFailure(
    cause: IOException,
) : IOException(cause.message, cause)
