import Testing

@testable import Postgres

@Suite("Connect failures")
struct ConnectFailureTests {
    @Test(arguments: [
        ("FATAL:  28P01: password authentication failed for user \"x\"\nLOCATION:  auth.c:1", "28P01"),
        (
            "connection to server at \"a\" (1.2.3.4), port 5432 failed: FATAL:  3D000: database \"x\" does not exist",
            "3D000"
        ),
        ("FATAL:  53300: sorry, too many clients already", "53300"),
        ("FATAL:  57P03: the database system is starting up", "57P03"),
    ])
    func `the SQLSTATE is found in the message of libpq`(message: String, state: String) {
        #expect(ConnectFailure(target: "t", message: message).sqlState == state)
    }

    @Test(arguments: [
        ("FATAL:  28000: role \"x\" does not exist", ConnectFailure.Reason.refusedCredentials),
        ("could not translate host name \"nowhere\" to address: Name or service not known", .unreachable),
        ("connection to server at \"a\", port 1 failed: Connection refused\n\tIs the server running?", .unreachable),
        ("connection to server at \"a\", port 1 failed: session is read-only", .notWritable),
        ("connection to server at \"a\", port 1 failed: fe_sendauth: no password supplied", .refusedCredentials),
        ("connection to server at \"a\", port 1 failed: SSL error: certificate verify failed", .untrusted),
        ("server certificate for \"b\" does not match host name \"a\"", .untrusted),
        ("connection to server at \"a\" failed: server does not support SSL, but SSL was required", .untrusted),
        ("something new", .other),
    ])
    func `the reason of a failure follows from the message of libpq`(message: String, reason: ConnectFailure.Reason) {
        #expect(ConnectFailure(target: "t", message: message).reason == reason)
    }

    @Test func `only the debug description contains the message of the server`() {
        let failure = ConnectFailure(target: "db:1/x", message: "FATAL:  28P01: failed for user \"secretrole\"")
        #expect(!failure.description.contains("secretrole"))
        #expect(failure.debugDescription.contains("secretrole"))
        #expect(!failure.debugDescription.contains("\n"))
    }

    @Test func `wrong credentials are not tried on the next host`() {
        #expect(!ConnectFailure(reason: .refusedCredentials, target: "t").mayTryNextHost)
        #expect(ConnectFailure(reason: .notWritable, target: "t").mayTryNextHost)
    }
}
