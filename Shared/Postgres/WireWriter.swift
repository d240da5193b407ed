/// Writes big-endian values into memory of the caller, who ensures its size.
struct WireWriter {
    private let base: UnsafeMutableRawPointer
    private(set) var count = 0

    init(_ base: UnsafeMutableRawPointer) { self.base = base }

    mutating func write<Value: FixedWidthInteger>(_ value: Value) {
        base.storeBytes(of: value.bigEndian, toByteOffset: count, as: Value.self)
        count += MemoryLayout<Value>.size
    }

    mutating func write(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress else { return }
        (base + count).copyMemory(from: source, byteCount: bytes.count)
        count += bytes.count
    }

    mutating func write(_ string: String) {
        var string = string
        string.withUTF8 { write(UnsafeRawBufferPointer($0)) }
    }
}
