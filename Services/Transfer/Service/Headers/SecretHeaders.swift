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
