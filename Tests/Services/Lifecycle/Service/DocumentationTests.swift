import Foundation
import HTTPKit
import Records
import ServiceKit
import TestSupport
import Testing

@testable import LifecycleService

@Suite("The description of lifecycle", .tags(.database), .timeLimit(.minutes(3))) struct DocumentationTests {
    @Test func `every GET route has a real example`() async throws {
        try await LifecycleFixture.run { fixture in
            for route in fixture.documentation.reads {
                let content = try #require(fixture.documentation.content(of: route), "\(route.path)")
                for form in content.members ?? [] {
                    let example = try #require(form.value["example"], "\(route.path) as \(form.name)")
                    guard form.name == "application/json" else { continue }
                    let type = try #require(route.response)
                    let record = try type.init(json: example)
                    let full = try JSON(parsing: record.jsonBytes)
                    #expect(full.includes(example), "\(route.path): \(full)")
                }
            }
        }
    }

    /// Examples are in JSON blocks or in inline code, streams in text blocks.
    @Test func `the README shows the examples of the API description`() async throws {
        let readme = try Self.readme()
        let blocks = readme.components(separatedBy: "```").enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
        let documents = blocks.filter { $0.hasPrefix("json\n") }.compactMap {
            try? JSON(parsing: Array($0.dropFirst("json\n".count).utf8))
        }
        #expect(documents.count == blocks.count { $0.hasPrefix("json\n") }, "a block is not JSON")
        let inline = readme.split(separator: "`").filter { $0.hasPrefix("{") }.compactMap {
            try? JSON(parsing: Array($0.utf8))
        }
        let streams = blocks.filter { $0.hasPrefix("text\n") }.map { Self.words(String($0.dropFirst("text\n".count))) }
        try await LifecycleFixture.run { fixture in
            for route in fixture.documentation.reads {
                for form in fixture.documentation.content(of: route)?.members ?? [] {
                    let example = form.value["example"] ?? .null
                    if let stream = example.string {
                        #expect(streams.contains(Self.words(stream)), "\(route.path) as \(form.name)")
                    } else {
                        #expect(
                            (documents + inline).contains { $0.includes(example) && example.includes($0) },
                            "\(route.path)")
                    }
                }
            }
        }
    }

    private static func readme() throws -> String {
        try String(contentsOf: Repository.file("Services/Lifecycle/README.md"), encoding: .utf8)
    }

    /// Returns a stream without white space, because the README breaks long lines.
    private static func words(_ stream: String) -> String { stream.filter { !$0.isWhitespace } }
}

extension JSON {
    /// Whether the document contains another document.
    fileprivate func includes(_ other: JSON) -> Bool {
        switch (self, other) {
        case (.object, .object(let members)):
            members.allSatisfy { member in self[member.name]?.includes(member.value) ?? false }
        case (.array(let own), .array(let others)):
            own.count == others.count && zip(own, others).allSatisfy { $0.includes($1) }
        case (.int, .double), (.double, .int): double == other.double
        default: self == other
        }
    }
}
