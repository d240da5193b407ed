import NIOCore
import TestSupport

/// Returns pseudo-random bytes. The same count and seed give the same bytes.
///
/// It stores words through a pointer: in an unoptimized build, the calls of `writeInteger(_:)` for 20 MiB take seconds.
func noise(_ count: Int, seed: UInt64) -> ByteBuffer {
    var random = SplitMix64(seed: seed)
    let size = (count + 7) / 8 * 8
    var buffer = ByteBuffer()
    buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: size) { bytes in
        var offset = 0
        while offset < size {
            bytes.storeBytes(of: random.next(), toByteOffset: offset, as: UInt64.self)
            offset += 8
        }
        return size
    }
    return buffer.getSlice(at: 0, length: count) ?? buffer
}
