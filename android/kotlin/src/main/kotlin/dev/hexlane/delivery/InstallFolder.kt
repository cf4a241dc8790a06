package dev.hexlane.delivery

import dev.hexlane.HexlaneException
import java.io.File
import java.io.IOException
import java.nio.channels.FileChannel
import java.nio.channels.FileLock
import java.nio.channels.OverlappingFileLockException
import java.nio.file.Files
import java.nio.file.Path
import java.nio.file.StandardCopyOption.ATOMIC_MOVE
import java.nio.file.StandardCopyOption.REPLACE_EXISTING
import java.nio.file.StandardOpenOption.CREATE
import java.nio.file.StandardOpenOption.WRITE

private const val MANIFEST = "manifest.json"

/**
 * Where a package is put together and what it replaces. Beside `name` there are, while they are needed: `.name.download` (what
 * has come), `.name.old` (the package that is being replaced) and `.name.lock`.
 */
internal class InstallFolder private constructor(
    val destination: Path,
) {
    val staging: Path = beside("download")
    private val old: Path = beside("old")

    private fun beside(what: String): Path = destination.resolveSibling(".${destination.fileName}.$what")

    /** True when a package is installed. A replacement that was interrupted between its two renames is taken back. */
    fun recover(): Boolean {
        if (!Files.exists(destination) && Files.exists(old)) Files.move(old, destination, ATOMIC_MOVE)
        delete(old)
        return isPackage()
    }

    private fun prepare() {
        recover()
        if (Files.exists(destination) && !isPackage()) {
            throw HexlaneException.Usage(
                "the destination is there and is no package",
                "$destination",
                remedy = "Choose a folder that does not exist",
            )
        }
    }

    private fun isPackage() = Files.isRegularFile(destination.resolve(MANIFEST))

    /** Complete and checked: nothing else gets its final name. */
    fun has(file: PackageFile): Boolean = size(staging.resolve(file.name)) == file.bytes

    fun partial(file: PackageFile): Long = maxOf(0, size(staging.resolve(file.name + PART)))

    /** Takes over what the installed package has already, and drops what belongs to no file of this one. */
    fun reuse(
        files: List<PackageFile>,
        link: (Path, Path) -> Unit,
    ) {
        Files.createDirectories(staging)
        dropOthers(files)
        for (file in files) {
            val installed = destination.resolve(file.name)
            if (has(file) || size(installed) != file.bytes || sha256(installed).hex() != file.sha256) continue
            Files.createDirectories(staging.resolve(file.name).parent)
            linkOrCopy(installed, staging.resolve(file.name), link)
        }
    }

    // An earlier, interrupted download may have been of another version of the package.
    private fun dropOthers(files: List<PackageFile>) {
        val wanted = files.associateBy { staging.resolve(it.name) }
        val parts =
            files
                .filter { partIsOf(staging.resolve(it.name + TAG), it) }
                .flatMap { listOf(staging.resolve(it.name + PART), staging.resolve(it.name + TAG)) }
                .toSet()
        val present = Files.walk(staging).use { all -> all.filter { Files.isRegularFile(it) }.toList() }
        for (path in present) {
            val file = wanted[path]
            val same = file != null && size(path) == file.bytes && sha256(path).hex() == file.sha256
            if (!same && path !in parts) Files.delete(path)
        }
    }

    /** The manifest last: a folder without it is no package. */
    fun install(manifest: String) {
        Files.writeString(staging.resolve(MANIFEST), manifest)
        Files.walk(staging).use { all -> all.forEach(::sync) }
        if (Files.exists(destination)) Files.move(destination, old, ATOMIC_MOVE)
        Files.move(staging, destination, ATOMIC_MOVE)
        sync(destination.toAbsolutePath().parent)
        delete(old)
    }

    companion object {
        /** Runs `block` with the folder, which nobody else installs into meanwhile. */
        suspend fun locked(
            destination: Path,
            block: suspend (InstallFolder) -> Unit,
        ) = exclusively(destination) {
            it.prepare()
            block(it)
        }

        /** As [InstallFolder.recover]; while somebody installs, what is there now. */
        fun recover(destination: Path): Boolean =
            try {
                exclusively(destination) { it.recover() }
            } catch (_: HexlaneException.Usage) {
                InstallFolder(destination.toAbsolutePath()).isPackage()
            }

        private inline fun <T> exclusively(
            destination: Path,
            block: (InstallFolder) -> T,
        ): T {
            val folder = InstallFolder(destination.toAbsolutePath())
            Files.createDirectories(folder.destination.parent)
            FileChannel.open(folder.beside("lock"), CREATE, WRITE).use { channel ->
                val lock = lock(channel) ?: throw busy(destination)
                lock.use { return block(folder) }
            }
        }

        private fun lock(channel: FileChannel): FileLock? =
            try {
                channel.tryLock()
            } catch (_: OverlappingFileLockException) {
                null
            }

        private fun busy(destination: Path) =
            HexlaneException.Usage("the package is being installed already", "$destination", remedy = "Wait for it to end")

        private fun size(path: Path): Long = if (Files.isRegularFile(path)) Files.size(path) else -1

        private fun delete(path: Path) {
            if (Files.exists(path) && !File("$path").deleteRecursively()) throw IOException("cannot delete $path")
        }

        // Android allows no hard links in an app's folder.
        private fun linkOrCopy(
            from: Path,
            to: Path,
            link: (Path, Path) -> Unit,
        ) {
            try {
                link(to, from)
            } catch (_: IOException) {
                Files.copy(from, to, REPLACE_EXISTING)
            } catch (_: UnsupportedOperationException) {
                Files.copy(from, to, REPLACE_EXISTING)
            }
        }
    }
}
