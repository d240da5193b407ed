import NIOHTTP1
import Records
import Scenarios

/// The files of the origin of `transfer` that the apps of a scenario download.
struct ScenarioContent: Sendable {
    /// The largest file: the bytes are real, and the rates of the scenario do not apply to them.
    static let largest = 64 << 20

    let client: SuiteClient
    let statistics: RunStatistics

    /// The name of the file for downloads of a size.
    static func name(of size: ByteCount) -> String { "scenario-\(min(size.bytes, largest)).bin" }

    /// Uploads a file for each size of a download in the scenario.
    ///
    /// - Returns: the URL of their folder; nil without `transfer`, or if it refuses a file.
    func place(_ scenario: Scenario) async throws(CancellationError) -> String? {
        guard let root = client.endpoints.services[.transfer] else { return nil }
        let sizes = Set(scenario.apps.flatMap(\.transfers).map { min($0.size.bytes, Self.largest) })
        for size in sizes.sorted() {
            var random = SeededRandom(seed: UInt64(size))
            var body: [UInt8] = []
            body.reserveCapacity(size + 8)
            while body.count < size { withUnsafeBytes(of: random.next()) { body.append(contentsOf: $0) } }
            let key = client.endpoints.operatorKey
            let response = try await client.exchange(
                "PUT", "\(root)/content/scenario-\(size).bin",
                key.isEmpty ? [:] : ["authorization": "Bearer " + key], Array(body.prefix(size)),
                type: "application/octet-stream")
            guard let response, (200...299).contains(response.status) else {
                statistics.complain("transfer refuses the content: \(response?.status.description ?? "no answer")")
                return nil
            }
        }
        return "\(root)/content"
    }
}
