import Foundation
import Records
import TestSupport
import Testing

/// Compares the JSON, the binary form and the schema of every record with stored texts, byte for byte.
///
/// A change in the binary form of a machine's state requires a new state version. A change in JSON changes the contract.
/// `STORE_GOLDEN=Tests/Golden/Forms swift test --skip-build --filter GoldenTests` replaces the stored forms.
@Suite("Golden forms of records") struct RecordGoldenTests {
    @Test(arguments: RecordModule.all)
    func `every record has the stored JSON, binary form and schema`(_ module: RecordModule) throws {
        let forms = try module.records.map { try GoldenForm.text(of: $0, in: module) }.joined()
        if let folder = ProcessInfo.processInfo.environment["STORE_GOLDEN"] {
            try Data(forms.utf8).write(to: URL(fileURLWithPath: folder).appendingPathComponent("\(module.name).txt"))
        }
        let url = try #require(Bundle.module.url(forResource: module.name, withExtension: "txt", subdirectory: "Forms"))
        let stored = try String(contentsOf: url, encoding: .utf8)
        for (line, expected) in zip(forms.split(separator: "\n"), stored.split(separator: "\n")) {
            #expect(line == expected)
        }
        #expect(forms.count == stored.count)
    }
}

/// The records of one module.
struct RecordModule: Sendable, CustomTestStringConvertible {
    let name: String
    let records: [any Record.Type]

    var testDescription: String { name }

    static let all = [
        RecordModule(name: "Contracts", records: RecordGoldenTests.contracts),
        RecordModule(name: "FetchMachine", records: RecordGoldenTests.fetchMachine),
        RecordModule(name: "FetchService", records: RecordGoldenTests.fetchService),
        RecordModule(name: "LifecycleMachine", records: RecordGoldenTests.lifecycleMachine),
        RecordModule(name: "LifecycleService", records: RecordGoldenTests.lifecycleService),
        RecordModule(name: "OpsService", records: RecordGoldenTests.opsService),
        RecordModule(name: "PushMachine", records: RecordGoldenTests.pushMachine),
        RecordModule(name: "PushService", records: RecordGoldenTests.pushService),
        RecordModule(name: "ServiceKit", records: RecordGoldenTests.serviceKit),
        RecordModule(name: "TransferMachine", records: RecordGoldenTests.transferMachine),
        RecordModule(name: "TransferService", records: RecordGoldenTests.transferService),
    ]
}
