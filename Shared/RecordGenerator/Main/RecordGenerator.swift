import Foundation
import RecordGeneration

/// Generates what a record needs beside its declaration: the initializer of its members, a placeholder, and the visit of its
/// fields. Of an event family: its catalogue.
///
/// A record is declared once, as a structure with stored properties:
///
///     /// A task may move.
///     public struct AttemptScheduled: EventData {
///         public static let type = "transfer.attempt.scheduled"
///         public var epoch: Int
///         public var app: String?
///         enum Constraints { static let epoch = Constraint.range(0...9) }
///     }
///
/// The order of the properties is the order of the binary form. `Records` has the type aliases `Nullable`, `Defaulted` and
/// `Flattened`, which say how JSON has a property. A record that declares `visit` itself is left alone.
///
/// Usage: RecordGenerator SOURCE OUTPUT
@main enum RecordGenerator {
    static func main() throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 3 else { return fail("usage: RecordGenerator SOURCE OUTPUT") }
        let file = URL(fileURLWithPath: arguments[1]).lastPathComponent
        do throws(UnreadableDeclaration) {
            let source = (try? String(contentsOfFile: arguments[1], encoding: .utf8)) ?? ""
            let code = GeneratedCode(try DeclarationReader(source), file: file)
            let text = code?.text ?? "// \(file) declares no record.\n"
            do { try text.write(toFile: arguments[2], atomically: true, encoding: .utf8) } catch { fail("\(error)") }
        } catch {
            fail("\(arguments[1]):\(error.line):1: error: \(error.reason)")
        }
    }

    private static func fail(_ message: String) {
        FileHandle.standardError.write(Data((message + "\n").utf8))
        exit(1)
    }
}
