import Crypto
import Foundation
import HTTPKit
import HTTPTypes
import Hummingbird
import NIOCore
import Reports

/// The page at `/` and its files. The executable contains all of them.
///
/// The files are public. The page reads all data from the API with the operator key that the user enters.
struct DashboardRoutes: Sendable {
    private static let files: [DashboardFile] = [
        DashboardFile("/", "text/html; charset=utf-8", PackageResources.index_html),
        DashboardFile("/dashboard.css", "text/css; charset=utf-8", PackageResources.dashboard_css),
        DashboardFile("/pages.css", "text/css; charset=utf-8", PackageResources.pages_css),
        DashboardFile("/icon.svg", "image/svg+xml", PackageResources.icon_svg),
        DashboardFile(script: "/address.js", PackageResources.address_js),
        DashboardFile(script: "/api.js", PackageResources.api_js),
        DashboardFile(script: "/audit.js", PackageResources.audit_js),
        DashboardFile(script: "/causes.js", PackageResources.causes_js),
        DashboardFile(script: "/chart.js", PackageResources.chart_js),
        DashboardFile(script: "/clock.js", PackageResources.clock_js),
        DashboardFile(script: "/dashboard.js", PackageResources.dashboard_js),
        DashboardFile(script: "/device.js", PackageResources.device_js),
        DashboardFile(script: "/devices.js", PackageResources.devices_js),
        DashboardFile(script: "/dom.js", PackageResources.dom_js),
        DashboardFile(script: "/door.js", PackageResources.door_js),
        DashboardFile(script: "/feed.js", PackageResources.feed_js),
        DashboardFile(script: "/files.js", PackageResources.files_js),
        DashboardFile(script: "/filters.js", PackageResources.filters_js),
        DashboardFile(script: "/lanes.js", PackageResources.lanes_js),
        DashboardFile(script: "/letters.js", PackageResources.letters_js),
        DashboardFile(script: "/outlook.js", PackageResources.outlook_js),
        DashboardFile(script: "/overview.js", PackageResources.overview_js),
        DashboardFile(script: "/pushes.js", PackageResources.pushes_js),
        DashboardFile(script: "/reports.js", PackageResources.reports_js),
        DashboardFile(script: "/sentences.js", PackageResources.sentences_js),
        DashboardFile(script: "/timeline.js", PackageResources.timeline_js),
        DashboardFile(script: "/transfers.js", PackageResources.transfers_js),
        DashboardFile(script: "/words.js", PackageResources.words_js),
    ]

    func add(to table: inout RouteTable) {
        for file in Self.files {
            // Monitoring tools send HEAD.
            for method in [HTTPRequest.Method.get, .head] {
                table.add(
                    method, file.path, "Returns a file of the dashboard", .open, .described(false),
                    .unknownQuery(.ignored)
                ) { _ in file.response }
            }
        }
    }
}

/// A file of the dashboard.
private struct DashboardFile: Sendable {
    let path: String
    private let headers: HTTPFields
    private let body: ByteBuffer

    init(_ path: String, _ type: String, _ bytes: [UInt8]) {
        self.path = path
        body = ByteBuffer(bytes: bytes)
        // The browser revalidates each file at each visit, so all files of a page have one version.
        let digest = SHA256.hash(data: bytes).prefix(12).map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0" + digits : digits
        }
        headers = [
            .contentType: type, .cacheControl: "no-cache", .eTag: ETag(digest.joined()).description,
            .contentSecurityPolicy: Self.policy, .referrerPolicy: "no-referrer",
        ]
    }

    init(script path: String, _ bytes: [UInt8]) { self.init(path, "text/javascript; charset=utf-8", bytes) }

    var response: Response { Response(status: .ok, headers: headers, body: .init(byteBuffer: body)) }

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
