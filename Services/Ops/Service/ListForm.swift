import Foundation
import HTTPKit
import HTTPTypes
import Hummingbird

/// The media types of a list. The first is JSON, for clients without a preference.
protocol ListForm: CaseIterable, RawRepresentable where RawValue == String, AllCases == [Self] {}

extension ListForm {
    /// Selects the media type that the request's `Accept` prefers; JSON without a preference.
    ///
    /// - Throws: `not_acceptable` if `Accept` allows none of the media types.
    init(_ request: Request) throws(Problem) {
        let accepted = request.headers[values: .accept].flatMap { $0.split(separator: ",") }
        guard !accepted.isEmpty else {
            self = Self.allCases[0]
            return
        }
        var best: (form: Self, quality: Double)?
        for range in accepted {
            let parts = range.split(separator: ";").map { $0.filter { !$0.isWhitespace }.lowercased() }
            let quality = parts.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) } ?? 1
            let form =
                switch parts.first ?? "" {
                case "*/*", "application/*": Self.allCases.first
                case "text/*": Self.allCases.first { $0.rawValue.hasPrefix("text/") }
                case let type: Self(rawValue: type)
                }
            if let form, quality > best?.quality ?? 0 { best = (form, quality) }
        }
        guard let best else {
            throw .notAcceptable.with(
                detail: "the supported types are " + Self.allCases.map(\.rawValue).joined(separator: ", "))
        }
        self = best.form
    }
}

extension Request {
    /// Returns the header `Link` with the address of the next page (RFC 8288). Some bodies cannot contain a cursor.
    func link(next cursor: String) -> String {
        let others = (uri.query ?? "").split(separator: "&").filter { !$0.hasPrefix("cursor=") }
        return "<\(uri.path)?\((others + ["cursor=\(cursor)"]).joined(separator: "&"))>; rel=\"next\""
    }
}

/// Returns a row of CSV (RFC 4180) with its line end.
func csvRow(_ cells: [String]) -> String { cells.map(quoted).joined(separator: ",") + "\r\n" }

private func quoted(_ cell: String) -> String {
    guard cell.utf8.contains(where: { [0x22, 0x2C, 0x0A, 0x0D].contains($0) }) else { return cell }
    // Works on bytes: in Swift a quote and a following combining mark form one character.
    var bytes: [UInt8] = [0x22]
    for byte in cell.utf8 {
        if byte == 0x22 { bytes.append(0x22) }
        bytes.append(byte)
    }
    return String(decoding: bytes + [0x22], as: UTF8.self)
}

extension HTTPField.Name {
    static let link = HTTPField.Name("Link")!
    /// The suite time up to which a search of a text has read the log.
    static let searchedTo = HTTPField.Name("Dormouse-Searched-To")!
}
