import Testing

@testable import HTTPKit

@Suite struct LineSplitterTests {
    @Test func `lines do not depend on the parts in which a body arrives`() {
        let body = Array("a\n\n \r\nbb\r\nccc\n\ndd".utf8)
        let expected = [(1, "a"), (4, "bb\r"), (5, "ccc"), (7, "dd")]
        for size in 1...body.count {
            var splitter = LineSplitter(limit: 10)
            var lines: [LineSplitter.Line] = []
            for start in stride(from: 0, to: body.count, by: size) {
                lines += splitter.take(body[start..<min(start + size, body.count)])
            }
            if let last = splitter.end() { lines.append(last) }
            #expect(lines == expected.map { LineSplitter.Line(number: $0.0, bytes: Array($0.1.utf8)) }, "\(size)")
        }
    }

    @Test func `a line beyond the limit is not kept`() {
        for size in [1, 3, 100] {
            var splitter = LineSplitter(limit: 3)
            let body = Array("abc\nabcd\nab".utf8)
            var lines: [LineSplitter.Line] = []
            for start in stride(from: 0, to: body.count, by: size) {
                lines += splitter.take(body[start..<min(start + size, body.count)])
            }
            if let last = splitter.end() { lines.append(last) }
            #expect(lines.map(\.number) == [1, 2, 3])
            #expect(lines.map(\.bytes) == [Array("abc".utf8), nil, Array("ab".utf8)])
        }
    }

    @Test func `a body without lines has none`() {
        var splitter = LineSplitter(limit: 3)
        #expect(splitter.take([]).isEmpty && splitter.end() == nil)
    }
}
