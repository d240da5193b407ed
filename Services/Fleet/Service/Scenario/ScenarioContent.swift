import NIOHTTP1
import Records
import Scenarios

/// The bytes that the apps of a scenario move: files of the origin of `transfer` for downloads, and their own files for
/// uploads.
struct ScenarioContent: Sendable {
    /// The largest file: the bytes are real, and the rates of the scenario do not apply to them.
    static let largest = 64 << 20
    /// The largest upload, because the suite stores each one.
    static let largestUpload = 1 << 20

    let client: SuiteClient
    let statistics: RunStatistics

    /// The name of the file for downloads of a size.
    static func name(of size: ByteCount) -> String { "scenario-\(min(size.bytes, largest)).bin" }

    /// Uploads a file for each size of a download in the scenario.
    ///
    /// - Returns: the URL of the origin; nil without `transfer`, or if it refuses a file.
    func place(_ scenario: Scenario) async throws(CancellationError) -> String? {
        guard let root = client.endpoints.services[.transfer] else { return nil }
        let downloads = scenario.apps.flatMap(\.transfers).filter { $0.kind == .download }
        for size in Set(downloads.map { min($0.size.bytes, Self.largest) }).sorted() {
            let key = client.endpoints.operatorKey
            let response = try await client.exchange(
                "PUT", "\(root)/content/scenario-\(size).bin",
                key.isEmpty ? [:] : ["authorization": "Bearer " + key], Self.bytes(size),
                type: "application/octet-stream")
            guard let response, (200...299).contains(response.status) else {
                statistics.complain("transfer refuses the content: \(response?.status.description ?? "no answer")")
                return nil
            }
        }
        return root
    }

    /// Returns random bytes, the same for each size.
    static func bytes(_ size: Int) -> [UInt8] {
        var random = SeededRandom(seed: UInt64(size))
        var bytes: [UInt8] = []
        bytes.reserveCapacity(size + 8)
        while bytes.count < size { withUnsafeBytes(of: random.next()) { bytes.append(contentsOf: $0) } }
        return Array(bytes.prefix(size))
    }
}
