import Contracts
import HTTPTypes
import Hummingbird
import LifecycleMachine
import Records
import ServiceKit

// Tokens: the credentials of devices and fleets.
extension LifecycleRoutes {
    func addTokens(_ table: inout RouteTable) {
        table.add(
            .post, "/v1/devices/{device}/token",
            "Issues another token, and says so in the log; the former ones are accepted until they expire",
            access: .caller,
            response: TokenDocument.self, status: .created
        ) { request, context in
            let device = try context.parameters.identifier("device")
            let voided = try await submit(.revokeTokens, request, context)
            let fleet = try await registered(request, context).state.fleet
            var answer = Response(
                TokenDocument(device: device, token: try await tokens.device(device, fleet: fleet ?? "")),
                status: .created)
            answer.headers[.position] = voided.headers[.position]
            return answer
        }
        table.add(
            .post, "/v1/fleets/{fleet}/token", "Issues a token that registers and opens the devices of a fleet",
            access: .scope(.operate), response: TokenDocument.self, status: .created
        ) { _, context in
            let fleet = try context.parameters.identifier("fleet")
            return Response(TokenDocument(fleet: fleet, token: try await tokens.fleet(fleet)), status: .created)
        }
        table.add(
            .get, "/.well-known/jwks.json", "The public keys of the tokens (RFC 7517)", access: .open
        ) { _, _ in Response(json: tokens.keySet.bytes) }
    }
}
