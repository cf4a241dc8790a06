package dev.hexlane.delivery

import dev.hexlane.HexlaneException
import kotlinx.serialization.SerializationException
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.long

private const val VERSION = 1L
private val SHA256 = Regex("[0-9a-f]{64}")

/** `delivery.json` of `hexlane package split`: one package for each SoC (docs/package.md). */
internal class Delivery(
    private val packages: List<DeliveredPackage>,
) {
    /** Null takes the smallest: every one runs on the CPU. */
    fun packageFor(soc: String?): DeliveredPackage =
        (if (soc == null) packages.minByOrNull { it.bytes } else packages.find { it.soc == soc })
            ?: throw HexlaneException.Unsupported(
                "the delivery has no package for this SoC",
                want = "one of: ${packages.joinToString { it.soc }}",
                got = soc.orEmpty(),
                remedy = "Convert the model with --soc $soc, or take a package of another one and run it on the CPU",
            )
}

internal class DeliveredPackage(
    val soc: String,
    val folder: String,
    val bytes: Long,
    val manifestSha256: String,
)

internal class PackageFile(
    val name: String,
    val bytes: Long,
    val sha256: String,
)

internal fun parseDelivery(text: String): Delivery {
    val fields = Fields(parse(text, "delivery.json"), "delivery.json")
    fields.check("hexlane-delivery")
    val packages =
        fields.list("packages").mapIndexed { i, entry ->
            val each = Fields(entry, "delivery.json, packages[$i]")
            DeliveredPackage(each.text("soc"), each.name("folder"), each.size("bytes"), each.hash("manifest_sha256"))
        }
    return Delivery(packages)
}

/** The files that a package's manifest.json lists. */
internal fun parseManifest(text: String): List<PackageFile> {
    val fields = Fields(parse(text, "manifest.json"), "manifest.json")
    fields.check("hexlane-package")
    return fields.entries("files").map { (name, entry) ->
        if (name == "manifest.json") throw HexlaneException.Corrupt("the manifest lists itself", "manifest.json")
        val each = Fields(entry, "manifest.json, files.$name")
        PackageFile(safeName(name, "manifest.json"), each.size("bytes"), each.hash("sha256"))
    }
}

/** A relative path that stays in its folder: what comes from the network decides where files go. */
private fun safeName(
    name: String,
    where: String,
): String {
    val parts = name.split('/')
    val safe = parts.all { it.isNotEmpty() && it != "." && it != ".." } && name.none { it == '\\' || it < ' ' || it == ':' }
    if (safe && !name.endsWith(PART) && !name.endsWith(TAG)) return name
    throw HexlaneException.Corrupt("a file's name would leave the package's folder", where, got = name)
}

private fun parse(
    text: String,
    where: String,
): JsonElement {
    if (text.trimStart().startsWith('<')) {
        throw HexlaneException.Corrupt(
            "a web page came instead of $where",
            remedy = "The network may want a login first: open a browser, or use another network",
        )
    }
    return try {
        Json.parseToJsonElement(text)
    } catch (error: SerializationException) {
        throw HexlaneException.Corrupt("not JSON", where, got = error.message.orEmpty(), cause = error)
    }
}

/** An object's fields; what is missing or of another type is Corrupt, by name. */
private class Fields(
    element: JsonElement,
    private val where: String,
) {
    private val fields = element as? JsonObject ?: throw HexlaneException.Corrupt("not a JSON object", where)

    fun text(name: String): String = (fields[name] as? JsonPrimitive)?.takeIf { it.isString }?.content ?: wrong(name, "a text")

    fun name(name: String): String = safeName(text(name), where)

    fun hash(name: String): String = text(name).takeIf(SHA256::matches) ?: wrong(name, "64 hexadecimal digits")

    fun size(name: String): Long = number(name).takeIf { it >= 0 } ?: wrong(name, "a number of bytes")

    fun list(name: String): JsonArray = fields[name] as? JsonArray ?: wrong(name, "a list")

    fun entries(name: String): Map<String, JsonElement> = fields[name] as? JsonObject ?: wrong(name, "an object")

    fun check(format: String) {
        if (text("format") != format) wrong("format", format)
        val version = number("format_version")
        if (version <= VERSION) return
        throw HexlaneException.Unsupported(
            "made by a newer Hexlane",
            where,
            want = "format_version $VERSION",
            got = "$version",
            remedy = "Update the app",
        )
    }

    private fun number(name: String): Long =
        (fields[name] as? JsonPrimitive)?.let { runCatching { it.long }.getOrNull() } ?: wrong(name, "an integer")

    private fun wrong(
        name: String,
        want: String,
    ): Nothing = throw HexlaneException.Corrupt("bad field '$name'", where, want, "${fields[name]}".take(80))
}
