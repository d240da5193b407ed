import Foundation
import Records
import Testing

@testable import MachineTesting

/// The counter and its next release, which has a newer stored form.
@Suite struct StateFixtureTests {
    private func faults(_ state: [UInt8]?) throws -> [String] {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        if let state {
            let text = state.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
            try Data(#"[{"name":"one","history":[],"state":"\#(text)"}]"#.utf8)
                .write(to: folder.appending(path: "1.json"))
        }
        return StateFixtures<NextCounter>(folder).faults(before: NextCounter.version)
    }

    @Test func `a new form needs fixtures of the former one, and must read them`() throws {
        #expect(try faults(Counter().binary) == [])
        #expect(try faults(nil) == ["version 1 has no fixtures"])
        #expect(try faults([]) == ["one of version 1 can't be read"])
    }
}
