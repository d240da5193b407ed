public import EventLog
public import Identity
import NIOCore
public import Records

extension Call {
    /// Returns the entry of the audit trail for an action of this call's caller.
    ///
    /// - Parameters:
    ///   - subject: the object of the action, such as `fleet:blue`.
    ///   - details: further facts without secrets.
    /// - Throws: `unauthenticated` on an open route.
    public func audit(
        _ action: AuditAction, of subject: String? = nil, details: JSON = [:]
    ) throws(Problem) -> AuditEntry {
        AuditEntry(
            action, by: AuditActor(try context.requireCaller()), from: context.channel.clientAddress?.ipAddress,
            of: subject, details: details)
    }
}

extension Caller {
    /// The kind and the name, such as `operator:alice`.
    public var actor: String {
        let actor = AuditActor(self)
        return actor.kind.rawValue + (actor.name.map { ":" + $0 } ?? "")
    }
}

extension AuditActor {
    /// The caller, by the name of its key, its fleet or its device.
    init(_ caller: Caller) {
        switch caller {
        case .operator(let name, _): self.init(.operator, name)
        case .fleet(let fleet): self.init(.fleet, fleet)
        case .device(let device, _): self.init(.device, device)
        }
    }
}
