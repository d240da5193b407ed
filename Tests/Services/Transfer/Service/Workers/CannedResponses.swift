/// Returns a response with a body.
func ok(_ text: String) -> String { "HTTP/1.1 200 OK\r\nContent-Length: \(text.utf8.count)\r\n\r\n\(text)" }

/// Returns a response without a body.
func status(_ code: Int, _ fields: String...) -> String {
    "HTTP/1.1 \(code) Answer\r\n" + fields.map { $0 + "\r\n" }.joined() + "Content-Length: 0\r\n\r\n"
}
