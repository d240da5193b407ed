import Contracts
import EventLog
import HTTPKit
import HTTPTypes
import Hummingbird
import Identity
import LifecycleCore
import Records
import Runtime
import ServiceKit
import Synchronization

// Tokens: the credentials of devices and fleets.
extension LifecycleRoutes {
    func addTokens(_ table: inout RouteTable) {
        table.add(
            .post, "/v1/devices/{device}/token", "Issues a new token and revokes the earlier ones in all services",
            .status(.created), .refuses(.ofDevice() + [.tokenShownOnce])
        ) { call in
            let device = try call.identifier("device")
            let isDecided = Mutex(false)
            let audit = try call.audit(.deviceTokenRotated, of: "device:" + device)
            let voided: Reply<JSON> = try await commands.submit(.revokeTokens, call, audit: audit) { _, _ in
                isDecided.withLock { $0 = true }
                return nil
            }
            // A repeated request revokes nothing, so it must not get a second valid token.
            guard isDecided.withLock({ $0 }) else { throw Problem.tokenShownOnce }
            let fleet = try await registered(call).state.fleet
            // The position is that of the revocation. So this token survives it, but no later one.
            let token = try await tokens.device(device, fleet: fleet ?? "", position: voided.headers.position ?? 0)
            var answer = Reply(TokenDocument(device: device, token: token))
            answer.headers[.position] = voided.headers[.position]
            return answer
        }
        table.add(
            .delete, "/v1/devices/{device}/token", "Revokes all tokens of a device", .refuses(.ofDevice())
        ) { call in
            let audit = try call.audit(.deviceTokenRevoked, of: try call.device.description)
            return try await commands.submit(.revokeTokens, call, audit: audit)
        }
        table.add(
            .post, "/v1/fleets/{fleet}/token", "Issues a token that registers the devices of a fleet and acts for them",
            .scope(.operate), .status(.created), .refuses([.tokenShownOnce])
        ) { call in
            let fleet = try call.identifier("fleet")
            // Created before the request is recorded: an unused token is harmless.
            let token = try await tokens.fleet(fleet)
            let audit = try call.audit(.fleetTokenIssued, of: "fleet:" + fleet)
            if let idempotency = try call.request.idempotency(of: try call.context.requireCaller(), call.context) {
                // The table records only that the token was shown.
                let before = try await commands.runtime.once(
                    idempotency, of: AggregateKey("fleet:" + fleet), audit: audit)
                guard before == nil else { throw Problem.tokenShownOnce }
            } else {
                // No token leaves the service without an entry.
                try await commands.runtime.record(audit)
            }
            return Reply(TokenDocument(fleet: fleet, token: token))
        }
        table.add(
            .delete, "/v1/fleets/{fleet}/token", "Revokes all tokens of a fleet", .scope(.operate), .status(.noContent)
        ) { call in
            let fleet = try call.identifier("fleet")
            try await tokens.revoke(fleet: fleet, audit: try call.audit(.fleetTokenRevoked, of: "fleet:" + fleet))
            return Response(status: .noContent)
        }
        table.add(
            .get, "/.well-known/jwks.json", "Returns the public keys of the tokens (RFC 7517)", .open,
            .example(Example.keys)
        ) { _ in Reply(tokens.keySet) }
    }
}

extension Problem {
    /// Neither the log nor the idempotency table stores tokens, so an answer with a token can't be repeated.
    static let tokenShownOnce = Problem(
        .conflict, "token_shown_once",
        "Token was already shown",
        detail: "The service stores no tokens. Request a new one with another Idempotency-Key.")
}
