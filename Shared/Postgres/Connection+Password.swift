import CLibpq

extension Connection {
    /// Returns the SCRAM-SHA-256 verifier of a password, which `ALTER ROLE … PASSWORD` takes instead of it. So neither the
    /// server nor its log of statements gets the password.
    ///
    /// - Throws: an error if the connection is closed, or if the password is empty or contains U+0000.
    public func scramVerifier(of password: String, role: String) throws(PostgresError) -> String {
        let session = try liveSession()
        guard !password.isEmpty, !password.utf8.contains(0),
            let verifier = PQencryptPasswordConn(session.pointer, password, role, "scram-sha-256")
        else { throw .invalidOptions(part: "password", reason: "it is empty or contains U+0000") }
        defer { PQfreemem(verifier) }
        return String(cString: verifier)
    }
}
