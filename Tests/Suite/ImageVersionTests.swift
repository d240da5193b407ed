import Foundation
import TestSupport
import Testing

/// The page on deployment names each image, its version, and a page that shows that the version was released.
@Suite("Versions of the images") struct ImageVersionTests {
    @Test func `the page has the versions of docker-compose.yml and of the Dockerfile`() throws {
        let page = try text("deploy/README.md")
        let rows = page.matches(of: #/\| `([a-z/]+)` \| (\d[\w.-]*)[^|]*\| \[[^\]]+\]\(https://[^)]+\) \|/#)
        let stated = Dictionary(uniqueKeysWithValues: rows.map { (String($0.1), String($0.2)) })
        var used: [String: String] = [:]
        for file in ["docker-compose.yml", "deploy/docker/Dockerfile", "deploy/docker/devcontainer.Dockerfile"] {
            let images = try text(file).matches(of: #/(?:image: |_IMAGE=|FROM )([a-z/]+):v?(\d[\w.-]*)/#)
            for image in images { used[String(image.1)] = String(image.2) }
        }
        #expect(stated.count == 6 && stated == used)
    }

    private func text(_ path: String) throws -> String {
        try String(contentsOfFile: Repository.root.path + "/" + path, encoding: .utf8)
    }
}
