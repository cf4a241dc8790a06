package dev.hexlane.delivery

import java.io.InputStream
import java.io.OutputStream
import java.net.InetAddress
import java.net.ServerSocket
import java.net.Socket
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.CopyOnWriteArrayList
import java.util.concurrent.Executors
import javax.net.ServerSocketFactory

/** What the server does with a request instead of answering it well. */
sealed interface Fault {
    /** Closes the connection after so many bytes of the body. */
    class Cut(
        val after: Int,
    ) : Fault

    /** Says nothing more after so many bytes. */
    class Stall(
        val after: Int,
    ) : Fault

    class Status(
        val code: Int,
        val headers: Map<String, String> = emptyMap(),
    ) : Fault

    /** Changes a byte. */
    class Corrupt(
        val at: Int,
    ) : Fault

    data object IgnoreRange : Fault

    /** Says that the file has so many bytes more than it has. */
    class WrongLength(
        val more: Int,
    ) : Fault
}

class Request(
    val path: String,
    val headers: Map<String, String>,
) {
    val from: Int get() = headers["range"]?.removeSurrounding("bytes=", "-")?.toInt() ?: 0
}

/** HTTP/1.1 on a socket, so that connections can be cut and stalled. Each fault of a path serves one request, in order. */
class FaultyServer(
    sockets: ServerSocketFactory = ServerSocketFactory.getDefault(),
    private val scheme: String = "http",
) : AutoCloseable {
    private val server: ServerSocket = sockets.createServerSocket(0, 50, InetAddress.getLoopbackAddress())
    private val threads = Executors.newCachedThreadPool { Thread(it).apply { isDaemon = true } }
    private val open = CopyOnWriteArrayList<Socket>()
    val files = ConcurrentHashMap<String, ByteArray>()
    val etags = ConcurrentHashMap<String, String>()
    val faults = ConcurrentHashMap<String, MutableList<Fault>>()
    val requests = CopyOnWriteArrayList<Request>()

    init {
        threads.execute { while (!server.isClosed) runCatching { server.accept() }.onSuccess { threads.execute { serve(it) } } }
    }

    fun url(path: String): String = "$scheme://localhost:${server.localPort}$path"

    fun fail(
        path: String,
        vararg with: Fault,
    ) {
        faults.getOrPut(path) { CopyOnWriteArrayList() }.addAll(with)
    }

    fun requestsOf(path: String): List<Request> = requests.filter { it.path == path }

    override fun close() {
        server.close()
        open.forEach { it.close() }
        threads.shutdownNow()
    }

    private fun serve(socket: Socket) {
        open += socket
        runCatching {
            socket.use {
                while (true) {
                    val request = read(it.getInputStream()) ?: break
                    requests += request
                    if (!answer(request, it.getOutputStream())) break
                }
            }
        }
        open -= socket
    }

    private fun read(input: InputStream): Request? {
        val lines = generateSequence { line(input) }.takeWhile { it.isNotEmpty() }.toList()
        if (lines.isEmpty()) return null
        val headers = lines.drop(1).associate { it.substringBefore(':').lowercase() to it.substringAfter(':').trim() }
        return Request(lines.first().split(' ')[1], headers)
    }

    private fun line(input: InputStream): String? {
        val text = StringBuilder()
        while (true) {
            val byte = input.read()
            if (byte < 0) return null
            if (byte == '\n'.code) return text.removeSuffix("\r").toString()
            text.append(byte.toChar())
        }
    }

    /** False ends the connection. */
    private fun answer(
        request: Request,
        out: OutputStream,
    ): Boolean {
        val fault = faults[request.path]?.removeFirstOrNull()
        if (fault is Fault.Status) return head(out, fault.code, fault.headers + ("Content-Length" to "0"))
        val file = files[request.path] ?: return head(out, 404, mapOf("Content-Length" to "0"))
        return send(request, file, fault, out)
    }

    private fun send(
        request: Request,
        file: ByteArray,
        fault: Fault?,
        out: OutputStream,
    ): Boolean {
        val etag = etags[request.path]
        val changed = request.headers["if-range"]?.let { it != etag } ?: false
        val from = if (fault == Fault.IgnoreRange || changed) 0 else request.from
        if (from > 0 && from >= file.size) return head(out, 416, mapOf("Content-Length" to "0"))
        val body = file.copyOfRange(from, file.size)
        if (fault is Fault.Corrupt) body[fault.at - from] = (body[fault.at - from] + 1).toByte()
        val length = body.size + ((fault as? Fault.WrongLength)?.more ?: 0)
        val headers = mutableMapOf("Content-Length" to "$length")
        if (from > 0) headers["Content-Range"] = "bytes $from-${file.size - 1}/${file.size}"
        if (etag != null) headers["ETag"] = etag
        head(out, if (from > 0) 206 else 200, headers)
        return write(out, body, fault)
    }

    private fun write(
        out: OutputStream,
        body: ByteArray,
        fault: Fault?,
    ): Boolean {
        val count =
            when (fault) {
                is Fault.Cut -> fault.after
                is Fault.Stall -> fault.after
                else -> body.size
            }
        out.write(body, 0, minOf(count, body.size))
        out.flush()
        if (fault is Fault.Stall) Thread.sleep(60_000)
        return fault == null || fault is Fault.Corrupt || fault == Fault.IgnoreRange
    }

    private fun head(
        out: OutputStream,
        status: Int,
        headers: Map<String, String>,
    ): Boolean {
        val lines = listOf("HTTP/1.1 $status -") + headers.map { (name, value) -> "$name: $value" }
        out.write((lines.joinToString("\r\n") + "\r\n\r\n").toByteArray())
        out.flush()
        return true
    }
}
