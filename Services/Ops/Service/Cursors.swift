import EventLog
import Foundation
import ServiceKit

/// The opaque text of a place in the feed: the order's first letter and the vector.
struct PlaceCursor {
    let place: LogVector
    let order: EventOrder

    init(place: LogVector, order: EventOrder) {
        self.place = place
        self.order = order
    }

    /// Nil where it is not the cursor of a feed in that order.
    init?(_ text: String, _ order: EventOrder) {
        guard let plain = opened(text), plain.first == order.rawValue.first,
            let point = ResumePoint(String(plain.dropFirst()))
        else { return nil }
        self.init(place: point.place, order: order)
    }

    var text: String { opaque(String(order.rawValue.prefix(1)) + ResumePoint(place.mapValues(Int64.init)).description) }
}

extension ResumePoint {
    var place: LogVector { offsets.mapValues(Int.init) }
}

/// The opaque text of a place among what was set aside.
struct LetterCursor {
    let place: LetterPlace

    init(_ place: LetterPlace) { self.place = place }

    /// Nil where it is none.
    init?(_ text: String) {
        guard let plain = opened(text) else { return nil }
        let parts = plain.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 4, let partition = Int32(parts[1]), let offset = Int(parts[2]), !plain.utf8.contains(0)
        else { return nil }
        place = LetterPlace(
            consumer: String(parts[0]), partition: Int(partition), key: String(parts[3]), offset: offset)
    }

    var text: String { opaque("\(place.consumer)/\(place.partition)/\(place.offset)/\(place.key)") }
}

/// URL-safe Base64 without padding.
private func opaque(_ plain: String) -> String {
    String(
        Data(plain.utf8).base64EncodedString().compactMap { character -> Character? in
            switch character {
            case "+": "-"
            case "/": "_"
            case "=": nil
            default: character
            }
        })
}

private func opened(_ text: String) -> String? {
    let standard = String(text.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
    let padded = standard + String(repeating: "=", count: (4 - standard.count % 4) % 4)
    return Data(base64Encoded: padded).flatMap { String(validating: $0, as: UTF8.self) }
}
