package dev.hexlane.delivery

import kotlinx.coroutines.delay
import java.io.FileOutputStream
import java.io.OutputStream
import java.nio.file.Files
import java.nio.file.Path

/** How hard to try. Times in milliseconds. */
public class DownloadOptions(
    /** Of connecting, and without a byte while reading. */
    public val stallMs: Int = 20_000,
    /** Rounds through all mirrors before a file is given up; one that brought bytes does not count. */
    public val attempts: Int = 6,
    /** Before the second round; doubles from round to round, with up to half as much again by chance. */
    public val firstPauseMs: Long = 1_000,
    public val longestPauseMs: Long = 60_000,
    /** Unencrypted http to other machines than this one. Content is checked by hash either way, but for delivery.json. */
    public val allowHttp: Boolean = false,
) {
    // For tests: what waits, and what a disk does.
    internal var pause: suspend (Long) -> Unit = { delay(it) }
    internal var freeBytes: (Path) -> Long = { it.toFile().usableSpace }
    internal var link: (Path, Path) -> Unit = { link, existing -> Files.createLink(link, existing) }
    internal var open: (Path, Boolean) -> OutputStream = { path, append -> FileOutputStream(path.toFile(), append) }
}

/** What [ModelDownloader.install] gives: [Progress] until [Installed]. */
public sealed interface Download {
    public class Progress(
        /** Of all files, those that were there already included. */
        public val bytes: Long,
        public val totalBytes: Long,
        /** That is coming now. */
        public val file: String,
        /** Since this download began. */
        public val bytesPerSecond: Long,
    ) : Download

    public class Installed(
        /** The package's folder, for `Hexlane.loadModel`. */
        public val path: Path,
    ) : Download
}
