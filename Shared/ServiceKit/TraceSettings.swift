import Foundation
import NIOSSL

/// The settings for the export of traces, with the names of OpenTelemetry
/// (https://opentelemetry.io/docs/specs/otel/protocol/exporter/).
public struct TraceSettings: Sendable {
    /// The URL that takes the spans; nil if none are exported.
    let endpoint: String?
    let headers: SecretFile
    /// The PEM file of the authority.
    let authority: String?
    /// The share of the new traces that is recorded, from 0 to 1.
    let share: Double

    init(_ reader: SettingsReader) {
        let base = reader.text(
            "OTEL_EXPORTER_OTLP_ENDPOINT",
            "URL of an OpenTelemetry collector that takes traces as OTLP over HTTP, such as http://localhost:4318; /v1/traces"
                + " is appended; without it no traces are exported")
        headers = reader.secret(
            "OTEL_EXPORTER_OTLP_HEADERS_FILE",
            "file with headers for the collector, one on each line, such as authorization=Bearer abc")
        authority = reader.text(
            "OTEL_EXPORTER_OTLP_CERTIFICATE",
            "PEM file with the authority of the collector's certificate, if the system does not trust it")
        share = reader.value(
            "OTEL_TRACES_SAMPLER_ARG", 1, shown: "1", range: "0 to 1",
            "share of the traces that begin here which is recorded; a request with a traceparent follows its sampled flag",
            mustBe: "a number from 0 to 1"
        ) { text in Double(text).flatMap { (0...1).contains($0) ? $0 : nil } }
        let isURL = base.map(Self.isURL) ?? true
        reader.require(
            isURL, "\(Setting.label("OTEL_EXPORTER_OTLP_ENDPOINT")) must be a URL that begins with http:// or https://")
        endpoint = base.map { $0 + ($0.hasSuffix("/") ? "" : "/") + "v1/traces" }
    }

    private static func isURL(_ text: String) -> Bool {
        guard let url = URL(string: text), let scheme = url.scheme, let host = url.host(), !host.isEmpty else {
            return false
        }
        return ["http", "https"].contains(scheme) && url.query == nil && url.fragment == nil
    }

    /// Returns the headers of the file.
    ///
    /// - Throws: an error if the file can't be read, or a line has no name.
    func readHeaders() throws(ConfigurationError) -> [(name: String, value: String)] {
        var read: [(name: String, value: String)] = []
        for line in (try headers.read() ?? "").split(whereSeparator: \.isNewline) {
            let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let (name, value) = (parts[0].trimmed, parts.count > 1 ? parts[1].trimmed : "")
            guard parts.count == 2, Self.isName(name), value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
                throw ConfigurationError("\(headers.setting): each line must be name=value")
            }
            read.append((name, value))
        }
        return read
    }

    /// Whether a text is a token of RFC 9110, section 5.6.2.
    private static func isName(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
                default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
                }
            }
    }

    /// Returns the certificates of the authority.
    ///
    /// - Throws: an error if the file is no PEM file.
    func trusted() throws(ConfigurationError) -> [NIOSSLCertificate] {
        guard let authority else { return [] }
        do { return try NIOSSLCertificate.fromPEMFile(authority) } catch {
            throw ConfigurationError(
                "\(Setting.label("OTEL_EXPORTER_OTLP_CERTIFICATE")): cannot read certificates from the file that it names"
            )
        }
    }
}

extension Substring {
    fileprivate var trimmed: String { trimmingCharacters(in: .whitespaces) }
}
