import EventLog
import Hummingbird
import Identity

/// The checks before a route, in this order: credential, rate, scope, query, positions, slot.
///
/// A long answer keeps a slot until it is sent.
struct Entrance: Sendable {
    let authenticator: Authenticator
    let rates: RequestRates
    let slots: RequestSlots
    let incarnation: LogIncarnation

    /// Returns a route's handler behind these checks.
    ///
    /// - Parameter handler: runs for admitted requests.
    func handler(of route: Route, _ handler: @escaping Route.Handler) -> Route.Handler {
        let query = route.queryRule
        let scope: Caller.Scope?
        switch route.access {
        case .open:
            let kind: RequestSlots.Kind = RequestGuard.probes.contains(route.path) ? .probe : .open
            return { request, context in
                try query?.check(request)
                let slot = try slots.take(kind, .address(context.channel.clientAddress?.network))
                return slot.kept(by: try await route.handler(request, context))
            }
        case .caller: scope = nil
        case .scope(let needed): scope = needed
        }
        let changes = !route.isRead
        let kind: RequestSlots.Kind = route.takesContent ? .body : .work
        // `POST` returns content only with `X-HTTP-Method-Override: GET`.
        let mayRefuse = !changes || route.bytes != nil
        return { request, context in
            var context = context
            let admission = try await authenticator.admit(request, context)
            let caller = admission.caller
            context.access?.caller = caller
            try rates.admit(caller)
            if let scope { try caller.require(scope) }
            context.admission = admission
            // A key with the scope `read` must not reach any handler that changes something.
            if changes { try context.requireCaller(.operate) }
            try query?.check(request)
            context.incarnation = incarnation
            let request = try incarnation.unmarked(request)
            try slots.enter(kind, .caller(caller))
            defer { slots.leave(kind, .caller(caller)) }
            context.held = HeldSlot(slots: slots, kind: kind, holder: .caller(caller))
            let answer = incarnation.marked(try await handler(request, context))
            return try slots.keep(answer, for: caller, mayRefuse: mayRefuse)
        }
    }
}
