package dev.hexlane.delivery

import dev.hexlane.HexlaneException
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.buffer
import kotlinx.coroutines.flow.channelFlow
import kotlinx.coroutines.flow.flowOn
import java.io.ByteArrayOutputStream
import java.io.IOException
import java.net.URLEncoder
import java.nio.file.Path
import java.security.MessageDigest

// delivery.json and manifest.json are texts of some KiB.
private const val MAX_TEXT = 16 shl 20

// A name as a path of a URL.
private fun escaped(name: String) = name.split('/').joinToString("/") { URLEncoder.encode(it, "UTF-8").replace("+", "%20") }

/**
 * Brings a package onto the device: HTTPS, resumed after interruptions and process death, each file checked by SHA-256, visible
 * only when complete.
 */
public class ModelDownloader(
    private val options: DownloadOptions = DownloadOptions(),
) {
    private val http = Http(options)

    /**
     * Installs into `destination` the package of the delivery for `soc` (null: the smallest, for the CPU). `urls`: of its
     * `delivery.json`, the same at each mirror. A package that is there already is replaced once the new one is complete, and files
     * that both have are not downloaded.
     *
     * Cold: collecting downloads; cancelling the collector stops at once and keeps what has come. Throws [HexlaneException]:
     * Unsupported (no such SoC: lists those there are), Io (network, room), Corrupt (not what the hashes say), Usage.
     */
    public fun install(
        urls: List<String>,
        soc: String?,
        destination: Path,
    ): Flow<Download> =
        channelFlow {
            if (urls.isEmpty()) throw HexlaneException.Usage("there is no URL to download from")
            val report: suspend (Download) -> Unit = { send(it) }
            try {
                InstallFolder.locked(destination) { Installation(it, urls, report).run(soc) }
            } catch (error: StorageFailure) {
                throw HexlaneException.Io(
                    "cannot write the package",
                    "$destination",
                    got = "${error.message}",
                    remedy = "Free room on the device and go on: what has come is kept",
                    cause = error,
                )
            } catch (error: IOException) {
                throw HexlaneException.Io("cannot install the package", "$destination", got = "${error.message}", cause = error)
            }
        }.buffer(Channel.CONFLATED).flowOn(Dispatchers.IO)

    /**
     * Whether a package is installed there: to be asked when the app starts. A replacement that the end of the process interrupted
     * is taken back.
     */
    public fun isInstalled(destination: Path): Boolean = InstallFolder.recover(destination)

    private inner class Installation(
        private val folder: InstallFolder,
        urls: List<String>,
        private val report: suspend (Download) -> Unit,
    ) {
        private val attempts = Attempts(urls.map { it.substringBeforeLast('/') + "/" }, options)
        private val deliveryName = urls.first().substringAfterLast('/')
        private val start = System.nanoTime()
        private var before = 0L // bytes of the files that are done
        private var received = 0L // over the network
        private var total = 0L

        suspend fun run(soc: String?) {
            val wanted = parseDelivery(attempts.run(deliveryName) { text(it + deliveryName) }).packageFor(soc)
            val manifest = attempts.run("manifest.json") { manifest("$it${escaped(wanted.folder)}/manifest.json", wanted) }
            val files = parseManifest(manifest)
            total = files.sumOf { it.bytes }
            folder.reuse(files, options.link)
            checkRoom(files)
            for (file in files) fetch(file, wanted.folder)
            folder.install(manifest)
            report(Download.Installed(folder.destination))
        }

        private suspend fun manifest(
            url: String,
            wanted: DeliveredPackage,
        ): String {
            val text = text(url)
            val got = MessageDigest.getInstance("SHA-256").apply { update(text.toByteArray()) }.hex()
            if (got == wanted.manifestSha256) return text
            throw HexlaneException.Corrupt(
                "the manifest is not the one that delivery.json names",
                url,
                "SHA-256 ${wanted.manifestSha256}",
                got,
                "The server may be in the middle of an update: try again later",
            )
        }

        private suspend fun text(url: String): String =
            http.get(url) { body ->
                val out = ByteArrayOutputStream()
                val buffer = ByteArray(1 shl 14)
                while (true) {
                    val count = body.stream.read(buffer)
                    if (count < 0) break
                    out.write(buffer, 0, count)
                    if (out.size() > MAX_TEXT) throw HexlaneException.Corrupt("the text does not end", url)
                }
                out.toString(Charsets.UTF_8)
            }

        private suspend fun fetch(
            file: PackageFile,
            remoteFolder: String,
        ) {
            if (!folder.has(file)) {
                var last = 0L
                val fetch =
                    FileFetch(http, options, folder.staging, file) { here ->
                        received += maxOf(0, here - last)
                        last = here
                        progress(file, here)
                    }
                last = fetch.here()
                attempts.run(file.name, fetch::here) { fetch.fetch("$it${escaped(remoteFolder)}/${escaped(file.name)}") }
            }
            before += file.bytes
            progress(file, 0)
        }

        private suspend fun progress(
            file: PackageFile,
            here: Long,
        ) {
            val seconds = (System.nanoTime() - start) / 1e9
            report(Download.Progress(before + here, total, file.name, (received / maxOf(seconds, 1e-3)).toLong()))
        }

        private fun checkRoom(files: List<PackageFile>) {
            val needed = files.sumOf { if (folder.has(it)) 0 else it.bytes - folder.partial(it) }
            val free = options.freeBytes(folder.staging)
            if (free >= needed) return
            throw HexlaneException.Io(
                "there is not enough room for the package",
                "${folder.destination}",
                "$needed bytes",
                "$free bytes free",
                "Free ${needed - free} bytes and go on",
            )
        }
    }
}
