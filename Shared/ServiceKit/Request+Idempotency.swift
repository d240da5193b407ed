import Crypto
public import EventLog
import HTTPTypes
public import Hummingbird
import Records

extension Request {
    /// What makes this request recognisable when its caller repeats it; nil without an `Idempotency-Key`.
    ///
    /// - Parameter content: what makes two requests to the same path the same: the decoded body. Asked for only where there is
    ///   a key: most requests have none, and to describe a command takes longer than to decide it.
    /// - Throws: `invalid_header` where the key is no identifier.
    public func idempotency(
        of caller: Caller, content: @autoclosure () -> String = ""
    ) throws(Problem) -> Idempotency? {
        guard let key = headers[.idempotencyKey] else { return nil }
        guard isIdentifier(key) else {
            throw .invalidHeader.because("Idempotency-Key must have 1 to 128 of A-Z a-z 0-9 . _ : -")
        }
        let words = "\(method) \(uri.path) \(content())"
        // One caller's keys are no other's.
        return Idempotency(
            key: "\(caller.description) \(key)", fingerprint: Array(SHA256.hash(data: Array(words.utf8))))
    }
}
