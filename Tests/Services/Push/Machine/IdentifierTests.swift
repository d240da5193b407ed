import Contracts
import Foundation
import PushCore
import Testing

@Suite struct IdentifierTests {
    @Test func `a device token contains its partition and locator`() throws {
        let locator = PushToken.locator(.device("phone"))
        let text = "000b" + Hexadecimal.text(locator) + String(repeating: "7f", count: 16)
        let token = try #require(PushToken(text))
        #expect(token.partition == 11)
        #expect(token.locator == locator)
        #expect(token.description == text)
        #expect(PushToken(text.uppercased()) == token)
    }

    // The index in the database computes the same: substr(sha256(key), 1, 14).
    @Test func `the locator is the beginning of SHA-256 of the key`() {
        #expect(Hexadecimal.text(PushToken.locator(AggregateKey("abc"))) == "ba7816bf8f01cfea414140de5dae")
    }

    @Test(arguments: [
        "", "00", String(repeating: "0", count: 63), String(repeating: "0", count: 66),
        String(repeating: "g", count: 64), String(repeating: "é", count: 32),
    ])
    func `other texts are not device tokens`(_ text: String) { #expect(PushToken(text) == nil) }

    @Test func `a notification id contains the partition and locator of its device`() throws {
        let token = try #require(PushToken("00ff" + String(repeating: "c4", count: 30)))
        let id = NotificationID(token, random: UUID())
        let read = try #require(NotificationID(id.description))
        #expect(read == id)
        #expect(read.partition == 255)
        #expect(read.locatorPrefix == Array(repeating: 0xC4, count: 5))
        #expect(UUID(uuidString: id.description) != nil)
        #expect(NotificationID(UUID().uuidString) == nil)
    }
}
