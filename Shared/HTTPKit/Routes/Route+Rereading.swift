public import Contracts
import HTTPTypes
import Hummingbird
import Machines

extension RouteTable {
    /// Waits until the service has read every event about an aggregate that is in the log now.
    ///
    /// It throws `RuntimeError.behind` if that takes too long.
    public typealias CatchUp = @Sendable (AggregateKey) async throws -> Void
}

extension Route {
    /// Returns a handler that runs again if it refuses a read about a device with unread events.
    ///
    /// Commands do not need it: the runtime decides them again. A body can't be read twice.
    func rereading(_ catchUp: RouteTable.CatchUp?) -> Handler {
        guard let catchUp, isRead, identifiers.contains("device") else { return handler }
        return { [handler] request, context in
            do { return try await handler(request, context) } catch  where Problem.mayBeEarly(error) {
                let device = AggregateKey.device(try context.parameters.identifier("device"))
                try await context.waiting { try await catchUp(device) }
                return try await handler(request, context)
            }
        }
    }
}

extension Problem {
    /// Returns whether an event of another service may turn the refusal into a success.
    fileprivate static func mayBeEarly(_ error: any Error) -> Bool {
        guard let refusal = error as? Problem ?? (error as? any MachineRefusal)?.problem else { return false }
        return [.notFound, .conflict, .gone].contains(refusal.status)
    }
}
