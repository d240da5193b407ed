import Foundation
import Records
import TestSupport
import Testing

/// The page on deployment names each image, its version, and a page that shows that the version was released. Renovate
/// proposes others.
@Suite("Versions of the images") struct ImageVersionTests {
    @Test func `the page has the versions of the Compose files and of the Dockerfiles`() throws {
        let used = try versions()
        let page = try text("deploy/README.md")
        let rows = page.matches(of: #/\| `([a-z/]+)` \| (\d[\w.-]*)[^|]*\| \[[^\]]+\]\(https://[^)]+\) \|/#)
        let stated = Dictionary(uniqueKeysWithValues: rows.map { (String($0.1), String($0.2)) })
        #expect(stated.count == 7 && stated == used)
    }

    /// Renovate finds the images in these files by itself. A rule for an image that is not there has no effect.
    @Test func `Renovate has rules for images of these files alone`() throws {
        let settings = try JSON(parsing: Array(text(".renovaterc.json").utf8))
        #expect(settings["enabledManagers"] == .array([.string("docker-compose"), .string("dockerfile")]))
        let rules = settings["packageRules"]?.items ?? []
        let named = rules.flatMap { $0["matchPackageNames"]?.items ?? [] }.compactMap(\.string)
        let used = try versions()
        #expect(!named.isEmpty && named.allSatisfy { used[$0] != nil }, "\(named)")
    }

    /// Returns the versions of the images, by name.
    private func versions() throws -> [String: String] {
        var used: [String: String] = [:]
        let dockerfiles = ["deploy/docker/Dockerfile", "deploy/docker/devcontainer.Dockerfile"]
        for file in ["docker-compose.yml", "deploy/docker/citus.yml"] + dockerfiles {
            let images = try text(file).matches(of: #/(?:image: |_IMAGE=|FROM )([a-z/]+):v?(\d[\w.-]*)/#)
            for image in images { used[String(image.1)] = String(image.2) }
        }
        return used
    }

    private func text(_ path: String) throws -> String {
        try String(contentsOfFile: Repository.root.path + "/" + path, encoding: .utf8)
    }
}
