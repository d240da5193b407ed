import Foundation
import MachineTesting
import Records
import Testing

/// Compares the JSON, the binary form and the schema of every record with stored texts, byte for byte.
///
/// A change in the binary form of a machine's state requires a new state version. A change in JSON changes the contract.
/// `STORE_GOLDEN=Tests/Golden/Machine/Forms swift test --skip-build --filter GoldenTests.RecordGoldenTests` replaces the
/// stored forms. `ServiceGoldenTests` has the records of the services.
@Suite("Golden forms of records") struct RecordGoldenTests {
    @Test(arguments: modules)
    func `every record has the stored JSON, binary form and schema`(_ module: RecordModule) throws {
        try module.compare(with: Bundle.module.bundleURL.appendingPathComponent("Forms"))
    }

    private static let modules = [
        RecordModule(name: "Contracts", records: contracts),
        RecordModule(name: "FetchCore", records: fetchMachine),
        RecordModule(name: "LifecycleCore", records: lifecycleMachine),
        RecordModule(name: "PushCore", records: pushMachine),
        RecordModule(name: "TransferCore", records: transferMachine),
    ]
}
