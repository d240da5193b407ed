import Crypto
import Foundation
import HTTPKit
import HTTPTypes
import Hummingbird
import NIOCore
import Reports

/// The page at `/` and its files. The executable contains all of them.
///
/// The files are public. The page reads all data from the API with the operator key that the user enters. The address of each
/// file but the page and the icon has the version of all files, so a browser keeps them, and asks at a visit only for the page.
struct DashboardRoutes: Sendable {
    private static let assets: [DashboardAsset] = [
        .style("dashboard.css", PackageResources.dashboard_css),
        .style("pages.css", PackageResources.pages_css),
        .script("address.js", PackageResources.address_js),
        .script("api.js", PackageResources.api_js),
        .script("audit.js", PackageResources.audit_js),
        .script("causes.js", PackageResources.causes_js),
        .script("chart.js", PackageResources.chart_js),
        .script("clock.js", PackageResources.clock_js),
        .script("dashboard.js", PackageResources.dashboard_js),
        .script("device.js", PackageResources.device_js),
        .script("devices.js", PackageResources.devices_js),
        .script("dom.js", PackageResources.dom_js),
        .script("door.js", PackageResources.door_js),
        .script("feed.js", PackageResources.feed_js),
        .script("files.js", PackageResources.files_js),
        .script("filters.js", PackageResources.filters_js),
        .script("lanes.js", PackageResources.lanes_js),
        .script("letters.js", PackageResources.letters_js),
        .script("outlook.js", PackageResources.outlook_js),
        .script("overview.js", PackageResources.overview_js),
        .script("pushes.js", PackageResources.pushes_js),
        .script("reports.js", PackageResources.reports_js),
        .script("sentences.js", PackageResources.sentences_js),
        .script("timeline.js", PackageResources.timeline_js),
        .script("transfers.js", PackageResources.transfers_js),
        .script("words.js", PackageResources.words_js),
    ]

    /// The version of the files whose address has one.
    static let version: String = {
        var hash = SHA256()
        for asset in assets { hash.update(data: asset.bytes) }
        return DashboardFile.text(hash.finalize())
    }()

    private static let page: [UInt8] = {
        var text = String(decoding: PackageResources.index_html, as: UTF8.self)
        for asset in assets { text.replace("\"\(asset.name)\"", with: "\"assets/\(version)/\(asset.name)\"") }
        return Array(text.utf8)
    }()

    func add(to table: inout RouteTable) {
        add("/", DashboardFile("text/html; charset=utf-8", Self.page), to: &table)
        add("/icon.svg", DashboardFile("image/svg+xml", PackageResources.icon_svg), to: &table)
        for asset in Self.assets {
            add("/assets/{version}/\(asset.name)", DashboardFile(asset.type, asset.bytes), to: &table)
        }
    }

    private func add(_ path: String, _ file: DashboardFile, to table: inout RouteTable) {
        // Monitoring tools send HEAD.
        for method in [HTTPRequest.Method.get, .head] {
            table.add(
                method, path, "Returns a file of the dashboard", .open, .described(false), .unknownQuery(.ignored)
            ) { call in
                // While another version replaces this one, a page may ask for files of the other.
                let isKept = try path.contains("{version}") && call.identifier("version") == Self.version
                return file.response(isKept: isKept)
            }
        }
    }
}

/// A style sheet or script of the dashboard.
private struct DashboardAsset: Sendable {
    let name: String
    let type: String
    let bytes: [UInt8]

    static func script(_ name: String, _ bytes: [UInt8]) -> DashboardAsset {
        DashboardAsset(name: name, type: "text/javascript; charset=utf-8", bytes: bytes)
    }

    static func style(_ name: String, _ bytes: [UInt8]) -> DashboardAsset {
        DashboardAsset(name: name, type: "text/css; charset=utf-8", bytes: bytes)
    }
}

/// A file of the dashboard.
private struct DashboardFile: Sendable {
    private let headers: HTTPFields
    private let body: ByteBuffer

    init(_ type: String, _ bytes: [UInt8]) {
        body = ByteBuffer(bytes: bytes)
        headers = [
            .contentType: type, .eTag: ETag(Self.text(SHA256.hash(data: bytes))).description,
            .contentSecurityPolicy: Self.policy, .referrerPolicy: "no-referrer",
        ]
    }

    /// Returns the first bytes of a digest in hexadecimal.
    static func text(_ digest: SHA256.Digest) -> String {
        digest.prefix(12).map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0" + digits : digits
        }.joined()
    }

    /// - Parameter isKept: whether the browser may keep the file without asking again: its address has its version.
    func response(isKept: Bool) -> Response {
        var headers = headers
        headers[.cacheControl] = isKept ? "public, max-age=31536000, immutable" : "no-cache"
        return Response(status: .ok, headers: headers, body: .init(byteBuffer: body))
    }

    /// Allows only files of this origin, and no framing. The page shows a report in a frame, which has this policy too, so
    /// the policy allows the style sheet of reports by its hash.
    private static let policy = [
        "default-src 'none'", "script-src 'self'", "style-src 'self' 'sha256-\(hash(of: ReportPage.style))'",
        "connect-src 'self'", "img-src 'self'",
        "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
    ].joined(separator: "; ")

    private static func hash(of text: String) -> String {
        Data(SHA256.hash(data: Data(text.utf8))).base64EncodedString()
    }
}

extension HTTPField.Name {
    fileprivate static let referrerPolicy = HTTPField.Name("Referrer-Policy")!
}
