package dev.hexlane

/**
 * A failure that input, the device or the caller caused: what went wrong, where, what was wanted, what was got, what to do.
 * Parts without anything to say are empty. Each subclass is a code of `hexlane.h`.
 */
public sealed class HexlaneException(
    public val what: String,
    public val where: String,
    public val want: String,
    public val got: String,
    public val remedy: String,
    cause: Throwable?,
) : Exception(compose(what, where, want, got, remedy), cause) {
    /** The request itself makes no sense: an option out of range, a closed session. */
    public class Usage(
        what: String,
        where: String = "",
        want: String = "",
        got: String = "",
        remedy: String = "",
        cause: Throwable? = null,
    ) : HexlaneException(what, where, want, got, remedy, cause)

    /** Well-formed, but does not fit: a prompt longer than the context. */
    public class InvalidInput(
        what: String,
        where: String = "",
        want: String = "",
        got: String = "",
        remedy: String = "",
        cause: Throwable? = null,
    ) : HexlaneException(what, where, want, got, remedy, cause)

    /** Malformed bytes: truncated, a checksum that does not match. */
    public class Corrupt(
        what: String,
        where: String = "",
        want: String = "",
        got: String = "",
        remedy: String = "",
        cause: Throwable? = null,
    ) : HexlaneException(what, where, want, got, remedy, cause)

    /** Valid, but not handled by this version or on this device. */
    public class Unsupported(
        what: String,
        where: String = "",
        want: String = "",
        got: String = "",
        remedy: String = "",
        cause: Throwable? = null,
    ) : HexlaneException(what, where, want, got, remedy, cause)

    /** A named file or entry is not there. */
    public class NotFound(
        what: String,
        where: String = "",
        want: String = "",
        got: String = "",
        remedy: String = "",
        cause: Throwable? = null,
    ) : HexlaneException(what, where, want, got, remedy, cause)

    /** The operating system or the network refused: permission, disk full, connection lost. */
    public class Io(
        what: String,
        where: String = "",
        want: String = "",
        got: String = "",
        remedy: String = "",
        cause: Throwable? = null,
    ) : HexlaneException(what, where, want, got, remedy, cause)

    /** A library, the device or memory is missing. */
    public class Environment(
        what: String,
        where: String = "",
        want: String = "",
        got: String = "",
        remedy: String = "",
        cause: Throwable? = null,
    ) : HexlaneException(what, where, want, got, remedy, cause)

    /** Qualcomm's library returned an error or crashed. */
    public class Vendor(
        what: String,
        where: String = "",
        want: String = "",
        got: String = "",
        remedy: String = "",
        cause: Throwable? = null,
    ) : HexlaneException(what, where, want, got, remedy, cause)

    /** A verification ran and its verdict is negative. */
    public class CheckFailed(
        what: String,
        where: String = "",
        want: String = "",
        got: String = "",
        remedy: String = "",
        cause: Throwable? = null,
    ) : HexlaneException(what, where, want, got, remedy, cause)

    /** The caller stopped it. A cancelled coroutine gets its CancellationException instead. */
    public class Cancelled(
        what: String,
        where: String = "",
        want: String = "",
        got: String = "",
        remedy: String = "",
        cause: Throwable? = null,
    ) : HexlaneException(what, where, want, got, remedy, cause)
}

// As Error::ToString in src/base/status.cc.
private fun compose(
    what: String,
    where: String,
    want: String,
    got: String,
    remedy: String,
): String =
    buildString {
        append(what)
        if (where.isNotEmpty()) append(" (at $where)")
        if (want.isNotEmpty() || got.isNotEmpty()) append(":")
        if (want.isNotEmpty()) append(" want $want")
        if (want.isNotEmpty() && got.isNotEmpty()) append(",")
        if (got.isNotEmpty()) append(" got $got")
        if (remedy.isNotEmpty()) append(". $remedy")
    }
