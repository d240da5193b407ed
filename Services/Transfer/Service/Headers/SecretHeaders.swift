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
        changing("headers") { headers in
            headers.changingMembers { TransferRequest.isSecret($0.name) ? Member($0.name, .null) : $0 }
        }
    }

    /// Returns a document with null for a member of an object in it.
    func replacing(_ member: String, in object: String) -> JSON {
        changing(object) { $0.changing(member) { _ in .null } }
    }

    /// Returns the object with another value of a member; the value itself if it has no such member.
    func changing(_ name: String, _ change: (JSON) -> JSON) -> JSON {
        changingMembers { $0.name == name ? Member(name, change($0.value)) : $0 }
    }

    private func changingMembers(_ change: (Member) -> Member) -> JSON {
        guard case .object(let members) = self else { return self }
        return .object(members.map(change))
    }
}
