import HTTPTypes
import NIOCore
import NIOHTTP1
import ServiceKit

extension ServiceContext {
    /// Sends `104 Upload Resumption Supported` ahead of the answer, by the writer beneath the router: a handler has one
    /// answer to give, but until then nobody else writes to the connection.
    ///
    /// It is a courtesy. On a connection that is gone, or that is not HTTP/1.1, nothing is sent.
    func sendUploadResumptionSupported(_ fields: HTTPFields) async {
        let channel = channel
        try? await channel.eventLoop.submit {
            let context = try channel.pipeline.syncOperations.context(handlerType: HTTPResponseEncoder.self)
            guard let encoder = context.handler as? HTTPResponseEncoder else { return }
            let status = HTTPResponseStatus.custom(code: 104, reasonPhrase: "Upload Resumption Supported")
            let headers = HTTPHeaders(fields.map { ($0.name.rawName, $0.value) })
            let head = HTTPResponseHead(version: .http1_1, status: status, headers: headers)
            encoder.write(context: context, data: NIOAny(HTTPServerResponsePart.head(head)), promise: nil)
            context.flush()
        }.get()
    }
}
