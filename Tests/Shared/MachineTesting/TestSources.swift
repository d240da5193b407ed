import Foundation
import MachineTesting

/// The top-level declarations of folders of tests, without comments.
struct TestSources {
    struct Declaration {
        let file: String
        let name: String
        let isExtension: Bool
        /// The declaration with its attributes.
        var text: String

        var isSuite: Bool { !isExtension && (text.contains("@Suite") || text.contains("@Test")) }
        /// The tags in the attribute of a suite.
        var tags: Set<String> {
            guard let list = text.range(of: ".tags(") else { return [] }
            return Set(text[list.upperBound...].prefix { $0 != ")" }.split { !$0.isLetter }.map(String.init))
        }
    }

    private(set) var declarations: [Declaration] = []
    var suites: [Declaration] { declarations.filter(\.isSuite) }

    /// - Parameter folders: paths from the root of the repository.
    init(_ folders: [String]) throws {
        for folder in folders {
            let paths = try FileManager.default.subpathsOfDirectory(atPath: Repository.file(folder).path)
            // The program CounterService is no fixture.
            for path in paths.sorted() where path.hasSuffix(".swift") && !path.hasPrefix("CounterService/") {
                let file = "\(folder)/\(path)"
                read(try String(contentsOf: Repository.file(file), encoding: .utf8), file)
            }
        }
    }

    private mutating func read(_ text: String, _ file: String) {
        var attributes = ""
        var isInside = false
        for line in text.split(separator: "\n") {
            if line.drop(while: { $0 == " " }).hasPrefix("//") { continue }
            let name = Self.declared(line)
            if let name {
                declarations.append(
                    Declaration(
                        file: file, name: name.name, isExtension: name.isExtension, text: "\(attributes)\(line)\n"))
                (attributes, isInside) = ("", true)
            } else if line.hasPrefix("@Suite") {
                (attributes, isInside) = ("\(line)\n", false)
            } else if isInside {
                declarations[declarations.count - 1].text += "\(line)\n"
            } else if !attributes.isEmpty {
                attributes += "\(line)\n"
            }
        }
    }

    /// Returns the name that a line declares at the top level of a file; nil if there is none.
    private static func declared(_ line: Substring) -> (name: String, isExtension: Bool)? {
        guard let first = line.first, first.isLetter || first == "@" else { return nil }
        let words = line.split(separator: " ")
        let kinds = ["struct", "class", "actor", "enum", "protocol", "func", "extension"]
        // The last one: the name of a suite may contain such a word.
        guard let place = words.dropLast().lastIndex(where: { kinds.contains(String($0)) }) else { return nil }
        let name = words[place + 1].prefix { $0.isLetter || $0.isNumber || $0 == "_" }
        return (String(name), words[place] == "extension")
    }

    /// Returns the names of the declarations that mention one of the roots, or that mention such a declaration.
    ///
    /// An extension belongs to its type, or to the suites in its file if the type is not one of them.
    /// - Parameters:
    ///   - roots: identifiers, or texts that are no identifiers.
    ///   - border: identifiers through which needs do not pass.
    func names(thatNeed roots: [String], border: Set<String>) -> Set<String> {
        let declared = Set(declarations.lazy.filter { !$0.isExtension }.map(\.name))
        let suites = Dictionary(grouping: self.suites, by: \.file).mapValues { $0.map(\.name) }
        let suiteNames = Set(suites.values.joined())
        var mentions: [String: Set<String>] = [:]
        var found: Set<String> = []
        for declaration in declarations {
            let own = [declaration.name].filter { declared.contains($0) }
            let isForeign = declaration.isExtension && !suiteNames.contains(declaration.name)
            let owners = (isForeign ? suites[declaration.file] : nil) ?? own
            let words = declaration.text.utf8.split { !Self.isPartOfWord($0) }.map { String($0) ?? "" }
            for owner in owners where !border.contains(owner) {
                mentions[owner, default: []].formUnion(words)
                if roots.contains(where: { words.contains($0) || ($0.contains("/") && declaration.text.contains($0)) })
                {
                    found.insert(owner)
                }
            }
        }
        while case let more = mentions.filter({ !found.contains($0.key) && !$0.value.isDisjoint(with: found) }).keys,
            !more.isEmpty
        {
            found.formUnion(more)
        }
        return found
    }

    private static func isPartOfWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
