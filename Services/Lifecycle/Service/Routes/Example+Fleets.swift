// Example answers of batches.
extension Example {
    static let setupLines = """
        {"device":"phone-1","line":1,"position":"3:17","status":201,"token":"eyJhbGciOiJFUzI1NiJ9.…","version":4}
        {"code":"invalid_document","detail":"/registration/profile must be one of ios6, ios7, …","errors":[…],"line":2,\
        "status":422,"title":"Document is not valid"}
        {"failed":1,"succeeded":1}

        """

    static let conditionsLines = """
        {"device":"phone-1","line":1,"position":"3:18","status":200,"version":5}
        {"failed":0,"succeeded":1}

        """
}
