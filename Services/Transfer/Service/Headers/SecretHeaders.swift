import Contracts
import OrderedCollections
import Records

/// The header fields of a request that must not enter the log: `Authorization` and `Cookie`. Their description and mirror
/// never contain the values.
struct SecretHeaders: Record, Equatable {
    var values: OrderedDictionary<String, String> = [:]
}

extension SecretHeaders: CustomStringConvertible, CustomReflectable {
    var description: String { "secret header fields" }
    var customMirror: Mirror { Mirror(self, children: []) }
}

extension OrderedDictionary<String, String> {
    /// The fields that may enter the log, and the secret ones; nil if there are none.
    var separated: (open: Self, secret: SecretHeaders?) {
        let secret = filter { TransferRequest.isSecret($0.key) }
        return (filter { !TransferRequest.isSecret($0.key) }, secret.isEmpty ? nil : SecretHeaders(values: secret))
    }
}

extension JSON {
    /// The document of a request without the values of its secret header fields.
    var withoutSecretHeaders: JSON {
        changing("headers") { name, value in TransferRequest.isSecret(name) ? .null : value }
    }

    /// Returns a document with null for a member of an object in it.
    func replacing(_ member: String, in object: String) -> JSON {
        changing(object) { name, value in name == member ? .null : value }
    }

    private func changing(_ object: String, _ change: (String, JSON) -> JSON) -> JSON {
        guard case .object(var members) = self else { return self }
        for index in members.indices where members[index].name == object {
            guard case .object(let inner) = members[index].value else { continue }
            members[index].value = .object(inner.map { Member($0.name, change($0.name, $0.value)) })
        }
        return .object(members)
    }
}
