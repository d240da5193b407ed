"""Connects twice with a client certificate, resumes the session of the first connection, and prints the outcome of each request.

Arguments: port, file of the authority, file of the certificate and key, path. Each connection prints a line: whether its session was
resumed, and the status and body of the answer.
"""

import socket
import ssl
import sys

import h2.connection
import h2.events

port, authority, certificate, path = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
trust = ssl.create_default_context(cafile=authority)
trust.load_cert_chain(certificate)
trust.set_alpn_protocols(["h2"])


def request(session):
    with socket.create_connection(("localhost", port), timeout=20) as plain:
        with trust.wrap_socket(plain, server_hostname="localhost", session=session) as secure:
            http = h2.connection.H2Connection()
            http.initiate_connection()
            headers = [(":method", "POST"), (":scheme", "https"), (":authority", "localhost"), (":path", path)]
            http.send_headers(1, headers)
            http.send_data(1, b'{"aps":{"alert":"hello"}}', end_stream=True)
            secure.sendall(http.data_to_send())
            status, body, ended = "", b"", False
            while not ended:
                data = secure.recv(65536)
                if not data:
                    break
                for event in http.receive_data(data):
                    if isinstance(event, h2.events.ResponseReceived):
                        status = dict(event.headers).get(b":status", dict(event.headers).get(":status", b""))
                    if isinstance(event, h2.events.DataReceived):
                        body += event.data
                    if isinstance(event, h2.events.StreamEnded):
                        ended = True
                secure.sendall(http.data_to_send())
            status = status.decode() if isinstance(status, bytes) else status
            print(secure.session_reused, status, body.decode())
            return secure.session


request(request(None))
