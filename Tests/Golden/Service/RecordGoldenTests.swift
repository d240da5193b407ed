import Foundation
import Records
import TestSupport
import Testing

/// Compares the records of the services with stored texts, as `GoldenTests` does for events and states.
///
/// `STORE_GOLDEN=Tests/Golden/Service/Forms swift test --skip-build --filter ServiceGoldenTests` replaces the stored
/// forms.
@Suite("Golden forms of records") struct RecordGoldenTests {
    @Test(arguments: modules)
    func `every record has the stored JSON, binary form and schema`(_ module: RecordModule) throws {
        try module.compare(with: Bundle.module.bundleURL.appendingPathComponent("Forms"))
    }

    private static let modules = [
        RecordModule(name: "FetchService", records: fetchService),
        RecordModule(name: "LifecycleService", records: lifecycleService),
        RecordModule(name: "OpsService", records: opsService),
        RecordModule(name: "PushService", records: pushService),
        RecordModule(name: "ServiceKit", records: serviceKit),
        RecordModule(name: "TransferService", records: transferService),
    ]
}
