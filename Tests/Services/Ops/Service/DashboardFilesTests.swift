import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import Records
import TestSupport
import Testing

@testable import OpsService

/// The files of the dashboard over HTTP.
@Suite("The dashboard's files", .tags(.database), .timeLimit(.minutes(2))) struct DashboardFilesTests {
    @Test func `the page is public and its policy allows only its own files`() async throws {
        try await OpsFixture.run { fixture in
            let page = try await fixture.get("/", key: nil)
            #expect(page.status == 200 && page.headers["content-type"] == "text/html; charset=utf-8")
            let policy = try #require(page.headers["content-security-policy"])
            #expect(policy.hasPrefix("default-src 'none';") && !policy.contains("unsafe"))
            #expect(page.headers["x-content-type-options"] == "nosniff")
            #expect(page.headers["referrer-policy"] == "no-referrer")
            #expect(page.headers["cache-control"] == "no-cache")
            // The page contains nothing that its policy forbids.
            for forbidden in [" style=\"", "<style", " onclick=", "http://", "https://"] {
                #expect(!page.body.contains(forbidden), "\(forbidden)")
            }
            let tag = try #require(page.headers["etag"])
            #expect(try await fixture.get("/", key: nil, ["If-None-Match": tag]).status == 304)
            #expect(try await !fixture.get("/openapi.json", key: nil).body.contains("dashboard"))
        }
    }

    @Test func `a monitor may ask for the page by HEAD`() async throws {
        try await OpsFixture.run { fixture in
            let answer = try await HTTPClient.shared.execute(
                fixture.request("/", "HEAD", key: nil), timeout: .seconds(60))
            #expect(answer.status == .ok)
            #expect(answer.headers.first(name: "Content-Type") == "text/html; charset=utf-8")
        }
    }

    /// Follows the names in the page and in its scripts, and checks the media types.
    @Test func `every file that the page names is served`() async throws {
        try await OpsFixture.run { fixture in
            let page = try await fixture.get("/", key: nil).body
            var seen: [String: String] = [:]
            var open = page.matches(of: #/(?:href|src)="([a-z0-9\/]+\.[a-z]+)"/#).map { "/\($0.1)" }
            while let path = open.popLast() {
                let file = try await fixture.get(path, key: nil)
                #expect(file.status == 200, "\(path)")
                #expect(file.headers["content-security-policy"] != nil && file.headers["etag"] != nil, "\(path)")
                let caching = path == "/icon.svg" ? "no-cache" : "public, max-age=31536000, immutable"
                #expect(file.headers["cache-control"] == caching, "\(path)")
                seen[path] = file.headers["content-type"] ?? ""
                let folder = path.prefix { $0 != "." }.split(separator: "/").dropLast().joined(separator: "/")
                let names = file.body.matches(of: #/from ["']\.\/([a-z]+\.[a-z]+)["']/#).map { "/\(folder)/\($0.1)" }
                open += names.filter { seen[$0] == nil && !open.contains($0) }
            }
            let scripts = seen.filter { $0.key.hasSuffix(".js") }
            #expect(scripts.count >= 9 && scripts.values.allSatisfy { $0 == "text/javascript; charset=utf-8" })
            // The browser asks for all scripts at once, without waiting for those that import them.
            let assets = "/assets/\(DashboardRoutes.version)/"
            let preloaded = page.matches(of: #/rel="modulepreload" href="([a-z0-9\/]+\.js)"/#).map { "/\($0.1)" }
            #expect(Set(preloaded + [assets + "dashboard.js"]) == Set(scripts.keys))
            #expect(seen[assets + "dashboard.css"] == "text/css; charset=utf-8" && seen["/icon.svg"] == "image/svg+xml")
        }
    }

    @Test func `a file of another version is served, and not kept`() async throws {
        try await OpsFixture.run { fixture in
            let file = try await fixture.get("/assets/older/dashboard.js", key: nil)
            #expect(file.status == 200 && file.headers["cache-control"] == "no-cache")
            let tag = try #require(file.headers["etag"])
            #expect(try await fixture.get("/assets/older/dashboard.js", key: nil, ["If-None-Match": tag]).status == 304)
            #expect(try await fixture.get("/assets/older/nothing.js", key: nil).status == 404)
        }
    }
}
