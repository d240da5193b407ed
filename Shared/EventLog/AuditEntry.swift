public import Postgres
public import Records

/// An action of the audit trail.
public enum AuditAction: String, Sendable, CaseIterable {
    /// The rate of virtual time was set, or the clock was frozen or resumed.
    case clockSet = "clock.set"
    /// Virtual time was advanced.
    case clockAdvanced = "clock.advanced"
    /// The dead letters of a device were processed again.
    case deadLetterReplayed = "deadLetter.replayed"
    /// The first dead letter of a device was discarded.
    case deadLetterDiscarded = "deadLetter.discarded"
    /// The erasure of a device's history was requested.
    case deviceErased = "device.erased"
    /// The tokens of a device were revoked, and a new one was issued.
    case deviceTokenRotated = "deviceToken.rotated"
    /// The tokens of a device were revoked.
    case deviceTokenRevoked = "deviceToken.revoked"
    /// A token of a fleet was issued.
    case fleetTokenIssued = "fleetToken.issued"
    /// The tokens of a fleet were revoked.
    case fleetTokenRevoked = "fleetToken.revoked"
    /// A provider's key was registered.
    case providerKeyCreated = "providerKey.created"
    /// A provider's key was removed.
    case providerKeyRemoved = "providerKey.removed"
    /// A provider created a channel for broadcasts.
    case channelCreated = "channel.created"
    /// A provider removed a channel for broadcasts.
    case channelRemoved = "channel.removed"
    /// A file of `/content` was created or replaced.
    case contentStored = "content.stored"
    /// A file of `/content` was removed.
    case contentRemoved = "content.removed"
    /// An operator removed an upload.
    case uploadRemoved = "upload.removed"
    /// A key that signs tokens was added.
    case signingKeyRotated = "signingKey.rotated"
    /// The older keys that signed tokens were deleted.
    case signingKeyRemoved = "signingKey.removed"
    /// Another incarnation of the log began.
    case incarnationBegun = "incarnation.begun"
    /// `DATA_DIRECTORY` was said to belong to the database.
    case directoryAccepted = "directory.accepted"
    /// A process read another file of operators' keys.
    case operatorKeysReloaded = "operatorKeys.reloaded"
    /// The log level of a process was set.
    case logLevelSet = "logLevel.set"
    /// A credential was refused.
    case credentialRefused = "credential.refused"
}

/// The one who acts.
public struct AuditActor: Sendable, Equatable {
    /// The kind of its credential.
    public enum Kind: String, Sendable, CaseIterable {
        case `operator`
        case fleet
        case device
        /// A provider, by its token or its certificate.
        case provider
        /// A user of the machine, who ran a command of a service.
        case commandLine
        /// A client without a valid credential.
        case anonymous
    }

    public var kind: Kind
    /// The name of the operator's key, the fleet, the device, the provider's team or certificate (such as
    /// `team:A1B2C3D4E5`), or the user of the machine; nil if unknown.
    public var name: String?

    public init(_ kind: Kind, _ name: String? = nil) { (self.kind, self.name) = (kind, name) }
}

/// One row of the audit trail: who did what, to what, and from where. The database adds the time and the service.
///
/// It must contain no secret, no token and no payload.
public struct AuditEntry: Sendable, Equatable {
    public var action: AuditAction
    public var actor: AuditActor
    /// The address of the client as the service sees it; nil for a command line.
    public var address: String?
    /// The object of the action, such as `fleet:blue`; nil if the action has none.
    public var subject: String?
    /// The number of equal actions that the entry stands for.
    public var count = 1
    /// Further facts: an object of at most 4,096 bytes.
    public var details: JSON

    public init(
        _ action: AuditAction, by actor: AuditActor, from address: String? = nil, of subject: String? = nil,
        count: Int = 1, details: JSON = [:]
    ) {
        self.action = action
        self.actor = actor
        self.address = address
        self.subject = subject
        self.count = count
        self.details = details
    }

    private static let insert = Statement(
        """
        INSERT INTO bus.audit (actor_kind, actor, address, action, subject, count, details)
        VALUES ($1, $2, $3, $4, $5, $6, $7::jsonb)
        """)
    private static let insertOfService = Statement(
        """
        INSERT INTO bus.audit (actor_kind, actor, address, action, subject, count, details, service)
        VALUES ($1, $2, $3, $4, $5, $6, $7::jsonb, $8)
        """)

    /// The query that adds the entry. It belongs into the transaction of the action, so that neither exists without the
    /// other.
    public var query: Query { Query(Self.insert, parameters) }

    /// Returns the query that adds the entry in the name of a service. Only the owner of the log may execute it: its role
    /// names no service.
    public func query(of service: String) -> Query { Query(Self.insertOfService, parameters + [.text(service)]) }

    private var parameters: [Parameter] {
        [
            .text(actor.kind.rawValue), .text(actor.name), .text(address), .text(action.rawValue), .text(subject),
            .int(count), .json(details.bytes),
        ]
    }

    /// Returns the entry for another subject.
    public func about(_ subject: String) -> AuditEntry {
        var entry = self
        entry.subject = subject
        return entry
    }

    /// Returns the entry with another detail.
    public func with(_ name: String, _ value: JSON) -> AuditEntry {
        guard case .object(let members) = details else { return self }
        var entry = self
        entry.details = .object(members + [JSON.Member(name, value)])
        return entry
    }
}

extension AuditEntry? {
    /// The query of the entry; none without an entry.
    public var queries: [Query] { map { [$0.query] } ?? [] }
}
