package dev.hexlane.delivery

import dev.hexlane.HexlaneException
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.ensureActive
import java.io.IOException
import java.io.OutputStream
import java.nio.channels.FileChannel
import java.nio.file.Files
import java.nio.file.Path
import java.nio.file.StandardCopyOption.ATOMIC_MOVE
import java.nio.file.StandardOpenOption.READ
import java.security.MessageDigest

internal const val PART = ".part"
internal const val TAG = ".part.etag"
private const val BUFFER = 1 shl 16

internal fun newDigest(): MessageDigest = MessageDigest.getInstance("SHA-256")

internal fun sha256(path: Path): MessageDigest {
    val digest = newDigest()
    Files.newInputStream(path).use { input ->
        val buffer = ByteArray(BUFFER)
        generateSequence { input.read(buffer).takeIf { it >= 0 } }.forEach { digest.update(buffer, 0, it) }
    }
    return digest
}

internal fun MessageDigest.hex(): String = digest().joinToString("") { "%02x".format(it) }

internal fun sync(path: Path): Unit = FileChannel.open(path, READ).use { it.force(true) }

/** Of which file a `.part` is: its hash, then what the server calls this version of it, if anything. */
internal fun partIsOf(
    tag: Path,
    file: PackageFile,
): Boolean = Files.exists(tag) && Files.readString(tag).substringBefore('\n') == file.sha256

/** Disk failures are none of the network's: they end the download. */
internal inline fun <T> stored(block: () -> T): T =
    try {
        block()
    } catch (error: IOException) {
        throw StorageFailure(error)
    }

/**
 * One file of a package into `folder`, whole and checked, or resumable: what has come is in `name.part`, and of which file it
 * is in `name.part.etag`.
 */
internal class FileFetch(
    private val http: Http,
    private val options: DownloadOptions,
    private val folder: Path,
    private val file: PackageFile,
    private val onBytes: suspend (here: Long) -> Unit,
) {
    private val part = folder.resolve(file.name + PART)
    private val tag = folder.resolve(file.name + TAG)
    private val target = folder.resolve(file.name)
    private var digest = newDigest()
    private var digested = 0L // bytes of the part that are in it

    /** Bytes that an earlier attempt left. */
    fun here(): Long = if (Files.exists(part)) Files.size(part) else 0

    /** One attempt. [TransientFailure] and its like leave the part for the next. */
    suspend fun fetch(url: String) {
        stored { Files.createDirectories(part.parent) }
        if (here() > file.bytes) restart()
        try {
            if (here() < file.bytes || here() == 0L) http.get(url, here(), validator()) { receive(it, url) }
        } catch (error: RangeRefused) {
            restart()
            throw TransientFailure("the server refused to go on (HTTP 416 from $url)", cause = error)
        }
        finish(url)
    }

    private fun validator(): String? =
        stored { if (Files.exists(tag)) Files.readString(tag).substringAfter('\n').ifEmpty { null } else null }

    private fun restart() =
        stored {
            Files.deleteIfExists(part)
            Files.deleteIfExists(tag)
        }

    private suspend fun receive(
        body: Body,
        url: String,
    ) {
        if (body.start == 0L) restart()
        stored { Files.writeString(tag, "${file.sha256}\n${body.validator.orEmpty()}") }
        digestUpTo(body.start)
        val out = stored { options.open(part, body.start > 0) }
        try {
            copy(body, out, url)
        } finally {
            stored { out.close() }
        }
    }

    // What this object has not seen itself it reads again.
    private fun digestUpTo(start: Long) {
        if (digested == start) return
        digest = if (start == 0L) newDigest() else stored { sha256(part) }
        digested = start
    }

    private suspend fun copy(
        body: Body,
        out: OutputStream,
        url: String,
    ) {
        val buffer = ByteArray(BUFFER)
        var here = body.start
        while (true) {
            val count = body.stream.read(buffer)
            currentCoroutineContext().ensureActive()
            if (count < 0) break
            here += count
            if (here > file.bytes) throw tooLong(url)
            stored { out.write(buffer, 0, count) }
            digest.update(buffer, 0, count)
            digested = here
            onBytes(here)
        }
        if (here < file.bytes) throw TransientFailure("the connection ended after $here of ${file.bytes} bytes ($url)")
    }

    private fun tooLong(url: String): HexlaneException {
        restart()
        return corrupt(url, "more bytes")
    }

    private fun finish(url: String) {
        digestUpTo(here())
        val got = digest.hex()
        digested = -1 // hex() has ended it
        if (got != file.sha256) {
            restart()
            throw corrupt(url, "SHA-256 $got")
        }
        stored {
            sync(part)
            Files.move(part, target, ATOMIC_MOVE)
            Files.deleteIfExists(tag)
        }
    }

    private fun corrupt(
        url: String,
        got: String,
    ) = HexlaneException.Corrupt(
        "the file is not the one that the manifest names",
        url,
        "${file.bytes} bytes with SHA-256 ${file.sha256}",
        got,
        "Try again later; if it stays so, the server's copy is damaged",
    )
}
