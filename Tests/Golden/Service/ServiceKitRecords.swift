import Records

@testable import ServiceKit

extension RecordGoldenTests {
    static let serviceKit: [any Record.Type] = [
        DeadLetterDocument.self, Page<DeadLetterDocument>.self, ReleaseDocument.self,
    ]
}
