package dev.hexlane

private typealias Make = (String, String, String, String, String, Throwable?) -> HexlaneException

// By code of hexlane.h, less one.
private val makers: List<Make> =
    listOf(
        HexlaneException::Usage,
        HexlaneException::InvalidInput,
        HexlaneException::Corrupt,
        HexlaneException::Unsupported,
        HexlaneException::NotFound,
        HexlaneException::Io,
        HexlaneException::Environment,
        HexlaneException::Vendor,
        HexlaneException::CheckFailed,
        HexlaneException::Cancelled,
    )

/** Called by native code, which throws what it gets. */
internal object NativeErrors {
    @JvmStatic
    fun toException(
        code: Int,
        what: ByteArray,
        where: ByteArray,
        want: ByteArray,
        got: ByteArray,
        remedy: ByteArray,
    ): Throwable {
        val make = makers.getOrNull(code - 1) ?: HexlaneException::Unsupported
        return make(what.text(), where.text(), want.text(), got.text(), remedy.text(), null)
    }
}

internal fun ByteArray.text(): String = toString(Charsets.UTF_8)
