import HTTPKit
import HTTPTypes
import Hummingbird
import Identity
import Records

/// What a client can learn about its own key, so that it offers only what the key may do.
struct KeyRoutes: Sendable {
    func add(to table: inout RouteTable) {
        table.add(
            .get, "/v1/key", "Returns the name and the scopes of the operator key of this request", .scope(.read)
        ) { call in
            guard case .operator(let name, let scopes) = try call.context.requireCaller() else {
                throw Problem.forbidden
            }
            return Reply(KeyDocument(name: name, scopes: scopes.map(\.rawValue).sorted()))
        }
    }
}

/// An operator key, without its secret.
struct KeyDocument: Record {
    /// `insecure-dev` if the service needs no key.
    var name: String
    /// `read`, `operate` or both.
    var scopes: [String]
}
