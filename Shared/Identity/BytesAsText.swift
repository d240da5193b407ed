import Foundation

extension [UInt8] {
    /// Decodes pairs of hexadecimal digits; returns nil for any other text.
    public init?(hexadecimal text: String) {
        let digits = Array(text.utf8)
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = Character(Unicode.Scalar(digits[index])).hexDigitValue,
                let low = Character(Unicode.Scalar(digits[index + 1])).hexDigitValue
            else { return nil }
            bytes.append(UInt8(high << 4 | low))
        }
        self = bytes
    }

    /// Decodes base64url (RFC 4648 section 5), with or without padding; also accepts the standard alphabet. Returns nil for
    /// any other text.
    public init?(base64URL text: some StringProtocol) {
        var standard = Data(text.utf8.map { $0 == UInt8(ascii: "-") ? 0x2B : $0 == UInt8(ascii: "_") ? 0x2F : $0 })
        standard.append(contentsOf: Array(repeating: UInt8(ascii: "="), count: (4 - standard.count % 4) % 4))
        guard let data = Data(base64Encoded: standard) else { return nil }
        self = Array(data)
    }
}

extension String {
    /// The Base64 text in the URL-safe alphabet without padding (RFC 4648 section 5).
    public var base64URL: String {
        String(
            compactMap { character -> Character? in
                switch character {
                case "+": "-"
                case "/": "_"
                case "=": nil
                default: character
                }
            })
    }
}
