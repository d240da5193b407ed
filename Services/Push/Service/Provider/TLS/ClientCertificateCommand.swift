public import ArgumentParser
import Contracts
import Foundation
import Records

/// `push client-certificate`: issues a certificate that a provider can send with instead of a token.
public struct ClientCertificateCommand: ParsableCommand {
    public static let name = "client-certificate"
    public static let configuration = CommandConfiguration(
        commandName: name,
        abstract: "Issues a certificate that a provider sends with instead of a token.",
        usage: "push client-certificate --topic <bundle id> [options]",
        discussion: """
            The development authority of the provider endpoint signs it: the one in --apns-certificates, which \
            `push serve` trusts unless it was given another with --apns-client-authority. The file gets the \
            certificate and its key, and can be read by its owner alone.
            """)

    /// Both environments, as Apple's certificates of today.
    enum Environment: String, ExpressibleByArgument, CaseIterable { case sandbox, production, both }

    @Option(help: .init("The bundle identifier that it stands for.", valueName: "bundle id"))
    var topic: String
    @Option(help: .init("What it is for: sandbox, production or both.", valueName: "word"))
    var environment = Environment.both
    @Option(help: .init("How long it is good for.", valueName: "number"))
    var days = 397
    @Option(help: .init("The file that gets it; <bundle id>.pem without it.", valueName: "file"))
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
            throw ValidationError("can't write \(file): name a file in a folder that is there with --out")
        }
        print("\(file) has the certificate and its key")
    }

    /// Runs it and ends the process, as `push client-certificate` does.
    public static func run(_ arguments: [String]) -> Never {
        main(arguments)
        Foundation.exit(0)
    }
}
