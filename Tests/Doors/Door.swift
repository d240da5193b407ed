import HTTPKit
import Machines
import Records
import TestSupport

@testable import PushService

/// An entry for documents from outside.
struct Door: Sendable {
    let name: String
    /// A document that it accepts.
    let template: JSON
    /// Whether it accepts documents of more than one form.
    var isFreeForm = false
    let take: @Sendable (_ document: [UInt8], inout DoorSuite, inout HostileDocuments) throws -> Void

    init(
        _ name: String, _ template: JSON, isFreeForm: Bool = false,
        _ take: @escaping @Sendable ([UInt8], inout DoorSuite, inout HostileDocuments) throws -> Void
    ) {
        self.name = name
        self.isFreeForm = isFreeForm
        self.template = template
        self.take = take
    }

    /// The body of a REST call that becomes a command.
    static func rest<M: Machine, R: Record>(
        _ type: R.Type, _ template: JSON, _ place: DoorSuite.Place<M>,
        _ command: @escaping @Sendable (R) throws -> M.Command
    ) -> Door {
        Door("\(M.name).\(type)", template) { document, suite, _ in
            try suite.submit(try command(try R(received: document)), place)
        }
    }

    /// The body of a REST call that no machine decides about: the service answers with the document itself.
    static func rest<R: Record>(
        _ service: String, _ type: R.Type, _ template: JSON, _ use: @escaping @Sendable (R) throws -> Void = { _ in }
    ) -> Door {
        Door("\(service).\(type)", template) { document, _, _ in
            let read = try R(received: document)
            try use(read)
            let written = read.jsonBytes
            guard try R(jsonBytes: written).jsonBytes == written else {
                throw DoorFault("\(type) changes in a round trip")
            }
        }
    }

    static let all = lifecycle + fetch + push + transfer + ops

    /// Whether an error is the refusal of a document.
    static func isRefusal(_ error: any Error) -> Bool {
        switch error {
        case is Problem, is JSONSyntaxError, is DocumentError, is APNsReason: true
        case let refusal as any MachineRefusal: refusal.unreadable == nil
        default: false
        }
    }
}
