import Mustache

/// A comparison of two reports as one HTML page without outside resources.
public struct ComparisonPage: Sendable {
    private let template: MustacheTemplate

    public init() throws {
        template = try MustacheTemplate(
            string: String(decoding: PackageResources.comparison_mustache, as: UTF8.self))
    }

    /// Returns the page of a comparison.
    public func html(_ comparison: Comparison) -> String {
        let different = comparison.figures.filter { $0.first != $0.second }
        let equal = comparison.figures.filter { $0.first == $0.second }
        let context: [String: Any] = [
            "style": ReportPage.style, "first": comparison.first, "second": comparison.second,
            // A row has values of these names.
            "firstName": comparison.first, "secondName": comparison.second,
            "sentences": comparison.sentences, "hasSentences": !comparison.sentences.isEmpty,
            "different": different.map(\.context), "hasDifferent": !different.isEmpty,
            "equal": equal.map(\.context), "equalCount": equal.count.grouped,
        ]
        return template.render(context)
    }
}

extension ComparedFigure {
    fileprivate var context: [String: Any] {
        // Each bar is the part of the greater value.
        let greater = max(abs(first ?? 0), abs(second ?? 0))
        func bar(_ value: Double?, _ name: String) -> String {
            guard let value, greater > 0 else { return "" }
            return Charts.length(abs(value) / greater, of: name)
        }
        return [
            "name": name, "app": app ?? "all apps", "content": content ?? "", "first": text(first),
            "second": text(second), "difference": differenceText, "firstBar": bar(first, "first"),
            "secondBar": bar(second, "second"),
        ]
    }
}
