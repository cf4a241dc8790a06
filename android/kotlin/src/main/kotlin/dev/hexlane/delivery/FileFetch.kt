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
import java.nio.file.StandardOpenOption.APPEND
import java.nio.file.StandardOpenOption.CREATE
import java.nio.file.StandardOpenOption.READ
import java.nio.file.StandardOpenOption.TRUNCATE_EXISTING
import java.nio.file.StandardOpenOption.WRITE
import java.security.MessageDigest

internal const val PART = ".part"
internal const val TAG = ".part.etag"
private const val BUFFER = 1 shl 16

internal fun sha256(path: Path): MessageDigest {
    val digest = MessageDigest.getInstance("SHA-256")
    Files.newInputStream(path).use { input ->
        val buffer = ByteArray(BUFFER)
        generateSequence { input.read(buffer).takeIf { it >= 0 } }.forEach { digest.update(buffer, 0, it) }
    }
    return digest
}

internal fun MessageDigest.hex(): String = digest().joinToString("") { "%02x".format(it) }

internal fun sync(path: Path): Unit = FileChannel.open(path, READ).use { it.force(true) }

/**
 * One file of a package into `folder`, whole and checked, or resumable: what has come is in `name.part`, and which version of
 * the file it is of in `name.part.etag`.
 */
internal class FileFetch(
    private val http: Http,
    private val folder: Path,
    private val file: PackageFile,
    private val onBytes: suspend (here: Long) -> Unit,
) {
    private val part = folder.resolve(file.name + PART)
    private val tag = folder.resolve(file.name + TAG)
    private val target = folder.resolve(file.name)

    /** Bytes that an earlier attempt left. */
    fun here(): Long = if (Files.exists(part)) Files.size(part) else 0

    /** One attempt. [TransientFailure] and its like leave the part for the next. */
    suspend fun fetch(url: String) {
        Files.createDirectories(part.parent)
        if (here() > file.bytes) restart()
        try {
            if (here() < file.bytes || here() == 0L) http.get(url, here(), validator()) { receive(it, url) }
        } catch (error: RangeRefused) {
            restart()
            throw TransientFailure("the server refused to go on (HTTP 416 from $url)", cause = error)
        }
        finish(url)
    }

    private fun validator(): String? = if (Files.exists(tag)) Files.readString(tag) else null

    private fun restart() {
        Files.deleteIfExists(part)
        Files.deleteIfExists(tag)
    }

    private suspend fun receive(
        body: Body,
        url: String,
    ) {
        if (body.start == 0L) restart()
        body.validator?.let { Files.writeString(tag, it) }
        stored { Files.newOutputStream(part, CREATE, WRITE, if (body.start == 0L) TRUNCATE_EXISTING else APPEND) }.use {
            copy(body, it, url)
        }
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
            onBytes(here)
        }
        if (here < file.bytes) throw TransientFailure("the connection ended after $here of ${file.bytes} bytes ($url)")
    }

    private fun tooLong(url: String): HexlaneException {
        restart()
        return corrupt(url, "more bytes")
    }

    private fun finish(url: String) {
        val got = sha256(part).hex()
        if (got != file.sha256) {
            restart()
            throw corrupt(url, "SHA-256 $got")
        }
        sync(part)
        Files.move(part, target, ATOMIC_MOVE)
        Files.deleteIfExists(tag)
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

    private inline fun <T> stored(block: () -> T): T =
        try {
            block()
        } catch (error: IOException) {
            throw StorageFailure(error)
        }
}
