/// Arranges the parameters of a query for libpq: values in one reused memory block, and arrays of pointers to them.
/// libpq copies the values into its send buffer.
final class Binder {
    /// The largest block that is kept for the next query; larger ones are freed.
    private static let keptCapacity = 1 << 20

    private var block: UnsafeMutableRawPointer
    private var capacity = 16 << 10
    private var values: [UnsafePointer<CChar>?] = []
    private var lengths: [Int32] = []
    private var formats: [Int32] = []

    init() { block = .allocate(byteCount: capacity, alignment: 8) }

    deinit { block.deallocate() }

    /// Calls `body` with pointers that are valid only during it. All formats are 1, binary.
    func bind(
        _ parameters: [Parameter],
        _ body: (
            _ count: Int32, _ values: UnsafePointer<UnsafePointer<CChar>?>?, _ lengths: UnsafePointer<Int32>?,
            _ formats: UnsafePointer<Int32>?
        ) -> Int32
    ) -> Int32 {
        guard !parameters.isEmpty else { return body(0, nil, nil, nil) }
        // One extra byte keeps the pointer of an empty last value inside the block.
        reserve(parameters.reduce(1) { $0 + $1.byteCount })
        defer { if capacity > Self.keptCapacity { resize(Self.keptCapacity) } }
        values.removeAll(keepingCapacity: true)
        lengths.removeAll(keepingCapacity: true)
        while formats.count < parameters.count { formats.append(1) }
        var writer = WireWriter(block)
        for parameter in parameters {
            let start = writer.count
            if case .null = parameter.value {
                values.append(nil)
            } else {
                values.append(UnsafePointer((block + start).assumingMemoryBound(to: CChar.self)))
                parameter.write(to: &writer)
            }
            lengths.append(Int32(clamping: writer.count - start))
        }
        return body(Int32(parameters.count), values, lengths, formats)
    }

    private func reserve(_ size: Int) {
        if size > capacity { resize(max(size, 2 * capacity)) }
    }

    private func resize(_ size: Int) {
        block.deallocate()
        block = .allocate(byteCount: size, alignment: 8)
        capacity = size
    }
}
