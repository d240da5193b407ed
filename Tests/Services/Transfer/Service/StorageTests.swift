import Foundation
import NIOCore
import Synchronization
import TestSupport
import Testing
import TransferCore

@testable import TransferService

/// The requirements on every storage.
@Suite(.tags(.processes)) struct StorageTests {
    private let folder: Folder
    private let storage: any Storage

    init() throws {
        folder = try Folder()
        storage = try DirectoryStorage(folder.url.path)
    }

    @Test func `bytes are read where they were written`() async throws {
        let file = try await storage.create("a", in: .uploads)
        try await file.write(ByteBuffer(string: "world"), at: 6)
        try await file.write(ByteBuffer(string: "hello "), at: 0)
        try await file.write(ByteBuffer(), at: 99)
        try await file.sync()
        let read = try await storage.open("a", in: .uploads)
        #expect(try await read.read(at: 0, count: 99) == ByteBuffer(string: "hello world"))
        #expect(try await read.read(at: 4, count: 3) == ByteBuffer(string: "o w"))
        #expect(try await read.read(at: 11, count: 1) == ByteBuffer())
    }

    @Test func `reopen continues a file and create empties it`() async throws {
        try await storage.create("a", in: .segments).write(ByteBuffer(string: "abc"), at: 0)
        try await storage.reopen("a", in: .segments).write(ByteBuffer(string: "def"), at: 3)
        #expect(try await text("a", in: .segments) == "abcdef")
        _ = try await storage.create("a", in: .segments)
        #expect(try await text("a", in: .segments) == "")
    }

    @Test func `a cancelled task removes a file`() async throws {
        _ = try await storage.create("a", in: .segments)
        let gate = Gate()
        let removal = Task {
            try? await gate.pass()
            try await storage.remove("a", from: .segments)
        }
        removal.cancel()
        try await removal.value
        await #expect(throws: StorageError.missing) { _ = try await storage.open("a", in: .segments) }
    }

    @Test func `absent files are missing`() async throws {
        _ = try await storage.create("a", in: .uploads)
        await #expect(throws: StorageError.missing) { _ = try await storage.open("a", in: .contents) }
        await #expect(throws: StorageError.missing) { _ = try await storage.reopen("b", in: .uploads) }
        await #expect(throws: StorageError.missing) {
            try await storage.link("b", from: .uploads, as: "c", in: .segments)
        }
        try await storage.remove("b", from: .uploads)
        let piece = FilePiece(file: try await storage.open("a", in: .uploads), range: 0..<1)
        await #expect(throws: StorageError.missing) { try await piece.forEachChunk { _ in } }
    }

    @Test func `removed bytes stay for links and open files`() async throws {
        try await storage.create("a", in: .uploads).write(ByteBuffer(string: "abc"), at: 0)
        let open = try await storage.open("a", in: .uploads)
        try await storage.link("a", from: .uploads, as: "b", in: .segments)
        try await storage.remove("a", from: .uploads)
        #expect(try await text("b", in: .segments) == "abc")
        try await storage.remove("b", from: .segments)
        #expect(try await open.read(at: 0, count: 9) == ByteBuffer(string: "abc"))
    }

    @Test func `a link counts as a change of its file`() async throws {
        _ = try await storage.create("a", in: .uploads)
        let url = folder.url.appendingPathComponent("uploads/a")
        try FileManager.default.setAttributes([.modificationDate: Date() - 7200], ofItemAtPath: url.path)
        #expect(try await storage.names(in: .uploads, unchangedFor: .seconds(3600)) == ["a"])
        #expect(try await storage.names(in: .uploads, unchangedFor: .seconds(9000)) == [])
        try await storage.link("a", from: .uploads, as: "b", in: .uploads)
        #expect(try await storage.names(in: .uploads, unchangedFor: .seconds(3600)) == [])
        #expect(try await storage.names(in: .uploads, unchangedFor: .zero).sorted() == ["a", "b"])
    }

    private func text(_ name: String, in folder: StorageFolder) async throws -> String {
        String(buffer: try await storage.open(name, in: folder).read(at: 0, count: 1000))
    }
}
