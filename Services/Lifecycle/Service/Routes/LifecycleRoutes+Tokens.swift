import Contracts
import HTTPTypes
import Hummingbird
import LifecycleMachine
import Records
import Runtime
import ServiceKit
import Synchronization

// Tokens: the credentials of devices and fleets.
extension LifecycleRoutes {
    func addTokens(_ table: inout RouteTable) {
        table.add(
            .post, "/v1/devices/{device}/token",
            "Issues another token and voids the former ones: every service refuses them from the next moments on",
            access: .caller, response: TokenDocument.self, status: .created,
            problems: .ofDevice() + [.tokenShownOnce]
        ) { request, context in
            let device = try context.parameters.identifier("device")
            let isDecided = Mutex(false)
            let voided = try await submit(.revokeTokens, request, context) { _, _ in
                isDecided.withLock { $0 = true }
                return []
            }
            // A repeated request voids nothing, so it gets nothing that could be used beside the first one's token.
            guard isDecided.withLock({ $0 }) else { throw Problem.tokenShownOnce }
            let fleet = try await registered(request, context).state.fleet
            // The answer's place in the log is that of the revocation: this token outlives it, and no later one.
            let token = try await tokens.device(device, fleet: fleet ?? "", position: voided.position ?? 0)
            var answer = Response(TokenDocument(device: device, token: token), status: .created)
            answer.headers[.position] = voided.headers[.position]
            return answer
        }
        table.add(
            .delete, "/v1/devices/{device}/token", "Voids the device's tokens without issuing another",
            access: .caller, status: .noContent, problems: .ofDevice()
        ) { try await submit(.revokeTokens, $0, $1, status: .noContent) }
        table.add(
            .post, "/v1/fleets/{fleet}/token", "Issues a token that registers and opens the devices of a fleet",
            access: .scope(.operate), response: TokenDocument.self, status: .created, problems: [.tokenShownOnce]
        ) { request, context in
            let fleet = try context.parameters.identifier("fleet")
            // Before it is taken down as shown: a token that nobody got to see harms nobody.
            let token = try await tokens.fleet(fleet)
            if let idempotency = try request.idempotency(of: try context.requireCaller(), context) {
                // What is kept is that it was shown, never the token.
                let before = try await commands.runtime.once(idempotency, of: AggregateKey("fleet:" + fleet))
                guard before == nil else { throw Problem.tokenShownOnce }
            }
            return Response(TokenDocument(fleet: fleet, token: token), status: .created)
        }
        table.add(
            .get, "/.well-known/jwks.json", "The public keys of the tokens (RFC 7517)", access: .open,
            response: JSON.self, example: Example.keys
        ) { _, _ in Response(json: tokens.keySet.bytes) }
    }
}

extension Problem {
    /// A token is neither in the log nor among the answers that are kept for repeated requests.
    static let tokenShownOnce = Problem(
        .conflict, "token_shown_once",
        "The token of this request was shown once: ask for another with another Idempotency-Key")
}
