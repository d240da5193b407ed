"""The schemas of Kubernetes. A process checks equal documents once, because a check reads all definitions."""
import functools
import json

from kubernetes_validate import SchemaNotFoundError, ValidationError, utils, validate

utils.schema_contents = functools.cache(utils.schema_contents)


@functools.cache
def _problem(text):
    try:
        validate(json.loads(text), "1.33", strict=True)
    except (ValidationError, SchemaNotFoundError) as error:
        return error.message
    return None


def problem(document):
    """Returns what is wrong with a document; None if it matches its schema."""
    return _problem(json.dumps(document))
