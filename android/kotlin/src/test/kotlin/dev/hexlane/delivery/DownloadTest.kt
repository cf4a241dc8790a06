package dev.hexlane.delivery

import dev.hexlane.HexlaneException
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.flow.collect
import kotlinx.coroutines.flow.filterIsInstance
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.AfterEach
import org.junit.jupiter.api.Assertions.assertArrayEquals
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertFalse
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.Timeout
import org.junit.jupiter.api.io.TempDir
import java.io.FileOutputStream
import java.io.IOException
import java.io.OutputStream
import java.nio.file.Files
import java.nio.file.Path
import java.security.MessageDigest
import kotlin.random.Random

private const val WEIGHTS = "/m/SM8650/weights.bin"

@Timeout(60)
class DownloadTest {
    @TempDir
    lateinit var folder: Path
    private val server = FaultyServer()
    private val pauses = mutableListOf<Long>()
    private val weights = Random(1).nextBytes(300_000)
    private val destination get() = folder.resolve("model")

    @AfterEach
    fun stop() = server.close()

    private val options =
        DownloadOptions(stallMs = 300).apply {
            pause = { pauses += it }
        }

    private fun publish(
        files: Map<String, ByteArray> = mapOf("weights.bin" to weights, "htp/a.bin" to ByteArray(5000) { 7 }),
        manifest: String = manifestOf(files),
        soc: String = "SM8650",
        on: FaultyServer = server,
    ) {
        files.forEach { (name, bytes) -> on.files["/m/$soc/$name"] = bytes }
        on.files["/m/$soc/manifest.json"] = manifest.toByteArray()
        on.files["/m/delivery.json"] = deliveryOf(soc, manifest).toByteArray()
    }

    private fun install(
        soc: String? = "SM8650",
        urls: List<String> = listOf(server.url("/m/delivery.json")),
        with: DownloadOptions = options,
    ): List<Download> = runBlocking { ModelDownloader(with).install(urls, soc, destination).toList() }

    private inline fun <reified T : Throwable> refused(crossinline block: () -> Unit): T =
        assertThrows(T::class.java) { block() }

    private fun assertInstalled() {
        assertArrayEquals(weights, Files.readAllBytes(destination.resolve("weights.bin")))
        assertTrue(Files.exists(destination.resolve("manifest.json")))
        val others = Files.list(folder).use { all -> all.map { "${it.fileName}" }.sorted().toList() }
        assertEquals(listOf(".model.lock", "model"), others)
    }

    @Test
    fun `installs a package whole, with progress`() {
        publish()
        val events = install()
        assertInstalled()
        assertEquals(destination, (events.last() as Download.Installed).path)
        val progress = events.filterIsInstance<Download.Progress>()
        assertEquals(305_000, progress.last().totalBytes)
        assertTrue(progress.zipWithNext().all { (a, b) -> a.bytes <= b.bytes })
    }

    @Test
    fun `goes on where the connection was cut`() {
        publish()
        server.fail(WEIGHTS, Fault.Cut(100_000), Fault.Cut(50_000))
        install()
        assertInstalled()
        assertEquals(listOf(0, 100_000, 150_000), server.requestsOf(WEIGHTS).map { it.from })
    }

    @Test
    fun `a stall ends by itself and goes on`() {
        publish()
        server.fail(WEIGHTS, Fault.Stall(100_000))
        install()
        assertInstalled()
        assertEquals(listOf(0, 100_000), server.requestsOf(WEIGHTS).map { it.from })
    }

    @Test
    fun `goes on after the process died`() {
        publish()
        server.fail(WEIGHTS, Fault.Stall(200_000))
        val patient = DownloadOptions(stallMs = 30_000)
        runBlocking {
            val job =
                launch {
                    ModelDownloader(patient).install(listOf(server.url("/m/delivery.json")), "SM8650", destination).collect()
                }
            while (partOfWeights() < 200_000) kotlinx.coroutines.delay(5)
            job.cancelAndJoin()
        }
        assertFalse(Files.exists(destination))
        install()
        assertInstalled()
        assertEquals(listOf(0, 200_000), server.requestsOf(WEIGHTS).map { it.from })
    }

    private fun partOfWeights(): Long {
        val part = folder.resolve(".model.download/weights.bin.part")
        return if (Files.exists(part)) Files.size(part) else 0
    }

    @Test
    fun `cancelling stops at once, also in a stall`() {
        publish()
        server.fail(WEIGHTS, Fault.Stall(10))
        val start = System.nanoTime()
        runBlocking {
            val downloader = ModelDownloader(DownloadOptions(stallMs = 30_000))
            val job = launch { downloader.install(listOf(server.url("/m/delivery.json")), null, destination).collect() }
            while (partOfWeights() < 10) kotlinx.coroutines.delay(5)
            job.cancelAndJoin()
        }
        assertTrue(System.nanoTime() - start < 10_000_000_000)
    }

    @Test
    fun `a file that changed meanwhile starts again`() {
        publish()
        server.etags[WEIGHTS] = "\"one\""
        server.fail(WEIGHTS, Fault.Cut(100_000))
        val downloader = ModelDownloader(DownloadOptions().apply { pause = { server.etags[WEIGHTS] = "\"two\"" } })
        runBlocking { downloader.install(listOf(server.url("/m/delivery.json")), "SM8650", destination).collect() }
        assertInstalled()
        assertEquals("\"one\"", server.requestsOf(WEIGHTS).last().headers["if-range"])
    }

    @Test
    fun `a server without ranges starts again`() {
        publish()
        server.fail(WEIGHTS, Fault.Cut(100_000), Fault.IgnoreRange)
        install()
        assertInstalled()
    }

    @Test
    fun `waits longer from time to time, and as long as the server says`() {
        publish()
        val busy = Fault.Status(429, mapOf("Retry-After" to "7"))
        server.fail(WEIGHTS, Fault.Status(503), Fault.Status(500), busy)
        install()
        assertInstalled()
        assertTrue(pauses[0] in 1000..1500 && pauses[1] in 2000..3000 && pauses[2] in 7000..7000, "$pauses")
    }

    @Test
    fun `gives up after the attempts, and says what to do`() {
        publish()
        server.fail(WEIGHTS, *Array(9) { Fault.Status(503) })
        val error = refused<HexlaneException.Io> { install() }
        assertTrue(error.message!!.contains("weights.bin") && error.message!!.contains("503"), error.message)
        assertEquals(5, pauses.size)
    }

    @Test
    fun `a corrupt file is not installed, and nothing of it is kept`() {
        publish()
        server.fail(WEIGHTS, Fault.Corrupt(1000), Fault.Corrupt(1000))
        val error = refused<HexlaneException.Corrupt> { install() }
        assertTrue(error.want.contains("SHA-256"))
        assertEquals(1, pauses.size)
        assertFalse(Files.exists(destination))
        assertEquals(0, partOfWeights())
        install()
        assertInstalled()
    }

    @Test
    fun `bytes that were damaged on the way come again`() {
        publish()
        server.fail(WEIGHTS, Fault.Corrupt(1000))
        install()
        assertInstalled()
        assertEquals(listOf(0, 0), server.requestsOf(WEIGHTS).map { it.from })
    }

    @Test
    fun `a disk that fills up is said, and what has come is kept`() {
        publish()
        val full =
            DownloadOptions(stallMs = 300).apply {
                open = { path, append -> FullDisk(FileOutputStream(path.toFile(), append), 100_000) }
            }
        val error = refused<HexlaneException.Io> { install(with = full) }
        assertTrue(error.message!!.contains("No space left") && error.remedy.contains("Free room"), error.message)
        val kept = partOfWeights()
        assertTrue(kept in 1..100_000, "$kept")
        install()
        assertInstalled()
        assertEquals(kept, server.requestsOf(WEIGHTS).last().from.toLong())
    }

    @Test
    fun `a part of another version of the file is not gone on with`() {
        publish()
        server.fail(WEIGHTS, Fault.Cut(100_000), *Array(6) { Fault.Status(404) })
        refused<HexlaneException.NotFound> { install() }
        assertEquals(100_000, partOfWeights())
        weights[0] = (weights[0] + 1).toByte()
        server.faults.clear()
        publish()
        install()
        assertInstalled()
        assertEquals(0, server.requestsOf(WEIGHTS).last().from)
    }

    @Test
    fun `names are escaped in URLs`() {
        val name = "htp/a b+c%20ü.bin"
        val bytes = ByteArray(10) { 3 }
        publish(mapOf("weights.bin" to weights, name to bytes))
        server.files["/m/SM8650/htp/a%20b%2Bc%2520%C3%BC.bin"] = bytes
        install()
        assertArrayEquals(bytes, Files.readAllBytes(destination.resolve(name)))
    }

    @Test
    fun `a manifest that lists itself is corrupt`() {
        publish(mapOf("manifest.json" to ByteArray(3)), manifestOf(mapOf("manifest.json" to ByteArray(3))))
        assertTrue(refused<HexlaneException.Corrupt> { install() }.message!!.contains("lists itself"))
    }

    @Test
    fun `copies what it cannot link`() {
        publish()
        install()
        publish(mapOf("weights.bin" to weights, "htp/b.bin" to ByteArray(10)))
        install(with = DownloadOptions().apply { link = { _, _ -> throw UnsupportedOperationException() } })
        assertInstalled()
        assertEquals(1, server.requestsOf(WEIGHTS).size)
    }

    @Test
    fun `tells whether a package is installed, and takes back an interrupted replacement`() {
        val downloader = ModelDownloader(options)
        assertFalse(downloader.isInstalled(destination))
        publish()
        install()
        assertTrue(downloader.isInstalled(destination))
        Files.move(destination, folder.resolve(".model.old"))
        assertTrue(downloader.isInstalled(destination))
        assertInstalled()
    }

    @Test
    fun `a mirror takes over`() {
        publish()
        FaultyServer().use { mirror ->
            publish(on = mirror)
            server.fail(WEIGHTS, Fault.Corrupt(1000), Fault.Status(404))
            install(urls = listOf(server.url("/m/delivery.json"), mirror.url("/m/delivery.json")))
            assertInstalled()
            assertEquals(1, mirror.requestsOf(WEIGHTS).size)
            assertTrue(pauses.isEmpty())
        }
    }

    @Test
    fun `a length that is not true is noticed`() {
        publish()
        server.fail(WEIGHTS, Fault.WrongLength(10), Fault.WrongLength(10))
        install()
        assertInstalled()
    }

    @Test
    fun `redirects are followed, but not in circles and not away from https`() {
        publish()
        server.fail(WEIGHTS, Fault.Status(302, mapOf("Location" to "/elsewhere")))
        server.files["/elsewhere"] = weights
        install()
        assertInstalled()
        server.fail("/m/delivery.json", *Array(20) { Fault.Status(301, mapOf("Location" to "/m/delivery.json")) })
        assertTrue(refused<HexlaneException.Io> { install() }.message!!.contains("redirected"))
    }

    @Test
    fun `plain http to another machine is refused`() {
        val error = refused<HexlaneException.Usage> { install(urls = listOf("http://example.com/delivery.json")) }
        assertTrue(error.message!!.contains("https"))
    }

    @Test
    fun `an unknown SoC lists those there are`() {
        publish()
        val error = refused<HexlaneException.Unsupported> { install(soc = "SM8750") }
        assertTrue(error.want.contains("SM8650") && error.got == "SM8750")
    }

    @Test
    fun `too little room is said with figures, before anything comes`() {
        publish()
        val full = DownloadOptions().apply { freeBytes = { 1000 } }
        val error = refused<HexlaneException.Io> { install(with = full) }
        assertTrue(error.message!!.contains("305000 bytes") && error.message!!.contains("1000 bytes free"), error.message)
        assertTrue(server.requestsOf(WEIGHTS).isEmpty())
    }

    @Test
    fun `an update takes what has not changed from the package that is there`() {
        publish()
        install()
        val next = mapOf("weights.bin" to weights, "htp/b.bin" to ByteArray(10))
        publish(next)
        install()
        assertInstalled()
        assertEquals(1, server.requestsOf(WEIGHTS).size)
        assertFalse(Files.exists(destination.resolve("htp/a.bin")))
        assertTrue(Files.exists(destination.resolve("htp/b.bin")))
    }

    @Test
    fun `a replacement that was interrupted keeps the old package`() {
        publish()
        install()
        Files.move(destination, folder.resolve(".model.old"))
        server.fail("/m/delivery.json", Fault.Status(404))
        refused<HexlaneException.NotFound> { install() }
        assertInstalled()
    }

    @Test
    fun `a folder that is no package is left alone`() {
        Files.createDirectories(destination)
        Files.writeString(destination.resolve("mine.txt"), "mine")
        publish()
        refused<HexlaneException.Usage> { install() }
        assertEquals("mine", Files.readString(destination.resolve("mine.txt")))
    }

    @Test
    fun `two installations of a package exclude each other`() {
        publish()
        server.fail(WEIGHTS, Fault.Stall(10))
        runBlocking {
            val downloader = ModelDownloader(DownloadOptions(stallMs = 30_000))
            val job = launch { downloader.install(listOf(server.url("/m/delivery.json")), null, destination).collect() }
            while (partOfWeights() < 10) kotlinx.coroutines.delay(5)
            assertTrue(refused<HexlaneException.Usage> { install() }.message!!.contains("already"))
            job.cancelAndJoin()
        }
    }

    @Test
    fun `what the server names cannot leave the folder`() {
        for (name in listOf("../evil", "/etc/evil", "a/../../evil", "a\\b", "", "a//b", "x.part")) {
            publish(mapOf(name to ByteArray(3)))
            val error = refused<HexlaneException.Corrupt> { install() }
            assertTrue(error.message!!.contains("leave"), error.message)
        }
    }

    @Test
    fun `bad delivery files and manifests say what is wrong with them`() {
        val manifest = manifestOf(emptyMap())
        val cases =
            mapOf(
                "<html>Log in</html>" to "web page",
                "[1" to "not JSON",
                "[]" to "not a JSON object",
                "{\"format\": \"other\", \"format_version\": 1}" to "format",
                deliveryOf("SM8650", manifest).replace("[0-9a-f]{64}".toRegex(), "12") to "manifest_sha256",
                deliveryOf("SM8650", manifest).replace("\"bytes\":10", "\"bytes\":-1") to "bytes",
            )
        for ((text, wanted) in cases) {
            server.files["/m/delivery.json"] = text.toByteArray()
            val error = refused<HexlaneException.Corrupt> { install() }
            assertTrue(error.message!!.contains(wanted), "$text: ${error.message}")
        }
        publish()
        server.files["/m/SM8650/manifest.json"] = "{}".toByteArray()
        assertTrue(refused<HexlaneException.Corrupt> { install() }.message!!.contains("manifest"))
        publish(manifest = manifest.replace("\"format_version\":1", "\"format_version\":2"))
        assertTrue(refused<HexlaneException.Unsupported> { install() }.remedy.contains("Update"))
    }

    @Test
    fun `the first event comes while later files are still missing`() {
        publish()
        runBlocking {
            val downloader = ModelDownloader(options)
            val flow = downloader.install(listOf(server.url("/m/delivery.json")), null, destination)
            assertTrue(flow.filterIsInstance<Download.Progress>().first().bytes > 0)
        }
        assertFalse(Files.exists(destination))
    }
}

private class FullDisk(
    private val out: OutputStream,
    private var room: Int,
) : OutputStream() {
    override fun write(byte: Int) = error("by buffers")

    override fun write(
        bytes: ByteArray,
        start: Int,
        count: Int,
    ) {
        room -= count
        if (room < 0) throw IOException("No space left on device")
        out.write(bytes, start, count)
    }

    override fun close() = out.close()
}

internal fun sha256(bytes: ByteArray): String = MessageDigest.getInstance("SHA-256").apply { update(bytes) }.hex()

internal fun manifestOf(files: Map<String, ByteArray>): String {
    val entries =
        files.map { (name, bytes) ->
            "\"${name.replace("\\", "\\\\")}\":{\"bytes\":${bytes.size},\"sha256\":\"${sha256(bytes)}\"}"
        }
    return "{\"format\":\"hexlane-package\",\"format_version\":1,\"files\":{${entries.joinToString(",")}}}"
}

internal fun deliveryOf(
    soc: String,
    manifest: String,
): String {
    val hash = sha256(manifest.toByteArray())
    val entry = "{\"soc\":\"$soc\",\"folder\":\"$soc\",\"bytes\":10,\"manifest_sha256\":\"$hash\"}"
    return "{\"format\":\"hexlane-delivery\",\"format_version\":1,\"packages\":[$entry]}"
}
