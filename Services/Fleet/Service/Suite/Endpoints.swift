public import Records
import Foundation

/// An error with a message of one line for users.
public struct FleetError: Error, Equatable, CustomStringConvertible {
    public let description: String

    public init(_ description: String) { self.description = description }
}

/// The addresses of the suite and the credential.
public struct Endpoints: Sendable, Equatable {
    /// The URLs of the available services.
    public var services: [ServiceName: String] = [:]
    /// The URL of the provider endpoint.
    public var apns: String?
    /// The URL of `ops`.
    public var ops: String?
    /// The operator key; empty without one.
    public var operatorKey = ""
    /// A PEM file with certificates to trust, in addition to the system's.
    public var certificates: String?

    public init() {}

    /// Reads the document of `DIR/endpoints.json`, and ignores unknown members.
    public init(document: JSON) throws(FleetError) {
        for service in ServiceName.allCases {
            guard let text = document[service.rawValue]?.string else { continue }
            try set(service, text)
        }
        if let text = document["apns"]?.string { apns = try Self.address(text, "apns") }
        if let text = document["ops"]?.string { ops = try Self.address(text, "ops") }
        operatorKey = document["operatorKey"]?.string ?? ""
        certificates = document["ca"]?.string
    }

    /// Reads `endpoints.json`.
    public init(file: String) throws(FleetError) {
        guard let data = FileManager.default.contents(atPath: file) else {
            throw FleetError("cannot read the endpoints file \(file)")
        }
        let document: JSON
        do { document = try JSON(parsing: Array(data)) } catch {
            throw FleetError("the endpoints file \(file) is \(error)")
        }
        try self.init(document: document)
    }

    /// Sets the URL of a service.
    public mutating func set(_ service: ServiceName, _ text: String) throws(FleetError) {
        services[service] = try Self.address(text, service.rawValue)
    }

    /// Reads the key from a file, without surrounding white space.
    public mutating func readOperatorKey(file: String) throws(FleetError) {
        guard let data = FileManager.default.contents(atPath: file) else {
            throw FleetError("cannot read the operator key file \(file)")
        }
        operatorKey = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Returns a valid URL without its last slash.
    public static func address(_ text: String, _ what: String) throws(FleetError) -> String {
        guard let url = URL(string: text), url.scheme == "http" || url.scheme == "https", url.host?.isEmpty == false
        else {
            throw FleetError("the address of \(what) must be an http or https URL, not \"\(text)\"")
        }
        return text.hasSuffix("/") ? String(text.dropLast()) : text
    }
}
