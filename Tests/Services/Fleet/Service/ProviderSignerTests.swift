import Testing

@testable import FleetService

/// The provider tokens of a scenario.
@Suite struct ProviderSignerTests {
    /// The endpoint answers `TooManyProviderTokenUpdates` to a second token of a key within 20 minutes.
    @Test func `pushes at the same time have the same provider token`() async {
        let signer = ProviderSigner()
        let tokens = await withTaskGroup(of: String.self) { group in
            for _ in 0..<50 { group.addTask { await signer.token() } }
            return await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(tokens.count == 1)
        #expect(tokens.allSatisfy { $0.split(separator: ".").count == 3 })
    }
}
