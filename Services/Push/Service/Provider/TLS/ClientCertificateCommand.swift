public import ArgumentParser
import Contracts
import Foundation
import Records

/// `push client-certificate`: issues a client certificate, which a provider uses instead of a token.
public struct ClientCertificateCommand: ParsableCommand {
    public static let configuration = CommandConfiguration(
        commandName: "client-certificate",
        abstract: "Issues a client certificate, which a provider uses instead of a token.",
        usage: "push client-certificate --topic <bundle id> [options]",
        discussion: """
            The development authority in --apns-certificates signs the certificate. `push serve` trusts this \
            authority unless --apns-client-authority names another one. The command writes the certificate and its \
            key to a file that only its owner can read.
            """)

    /// The environments of a certificate. Apple's certificates are for both.
    enum Environment: String, ExpressibleByArgument, CaseIterable { case sandbox, production, both }

    @Option(help: .init("The bundle identifier of the app.", valueName: "bundle id"))
    var topic: String
    @Option(help: .init("The environment: sandbox, production or both.", valueName: "word"))
    var environment = Environment.both
    @Option(help: .init("The validity in days.", valueName: "number"))
    var days = 397
    @Option(help: .init("The output file; <bundle id>.pem by default.", valueName: "file"))
    var out: String?
    @Option(help: .init("The folder of the development authority.", valueName: "folder"))
    var apnsCertificates = Push.certificateFolder

    public init() {}

    public func validate() throws {
        guard isIdentifier(topic) else { throw ValidationError("--topic must be a bundle identifier") }
        guard (0...3650).contains(days) else { throw ValidationError("--days must be from 0 to 3650") }
    }

    public func run() throws {
        let authority = try DevelopmentAuthority.open(URL(fileURLWithPath: apnsCertificates))
        let environments = PushEnvironment.allCases.filter {
            environment == .both || $0.rawValue == environment.rawValue
        }
        let issued = try authority.issueClientCertificate(topic: topic, environments: environments, days: days)
        let file = out ?? "\(topic).pem"
        guard PrivateFile.write(issued.certificate + "\n" + issued.key + "\n", to: file) else {
            throw ValidationError("can't write \(file): name a file in an existing folder with --out")
        }
        print("wrote the certificate and its key to \(file)")
    }
}
