import Contracts
import Foundation
public import HTTPKit
public import Machines

/// The sender of commands. Their events name it.
public struct Requester: Sendable {
    /// The W3C trace context of the request; nil if the client sent none.
    public var traceparent: String?
    /// The sender, such as `operator:alice`; nil for the service itself.
    public var actor: String?

    public init(traceparent: String? = nil, actor: String? = nil) {
        self.traceparent = traceparent
        self.actor = actor
    }

    /// The origin of a new command.
    public var origin: Origin { Origin(id: UUID.random(), traceparent: traceparent, actor: actor) }
}

extension ServiceContext {
    /// The sender of the request.
    public var requester: Requester { Requester(traceparent: eventTraceparent, actor: caller?.actor) }
}
