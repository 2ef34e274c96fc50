"""JSON Schema from type hints, and JSON values as what the hints say.

`shape_of` compiles a type hint into a `Shape`, which writes the schema and decodes values. Objects
are written in place, since not every provider follows references; only a type that contains itself
goes to `$defs`.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import enum
import re
import types
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, Protocol, Union, get_args, get_origin, get_type_hints

Schema = dict[str, Any]


class MismatchError(ValueError):
    """A JSON value is not what the type hints say."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path or '/'}: {problem}")


class Shape(Protocol):
    """What a type hint means in JSON."""

    def schema(self, definitions: Schema) -> Schema:
        """The JSON Schema. What it refers to with `#/$defs/` is added to `definitions`."""
        ...

    def decode(self, value: Any, path: str) -> Any:
        """The Python value for a JSON value. Raises MismatchError with the path, a JSON Pointer."""
        ...


def shape_of(hint: object) -> Shape:
    """Compiles a type hint. Raises TypeError if it has no form in JSON."""
    return _Compiler().shape(hint)


def root_schema(shape: Shape) -> Schema:
    """The schema of a whole document, with the definitions that it refers to."""
    definitions: Schema = {}
    schema = shape.schema(definitions)
    if "$ref" in schema:
        # A root must be an object itself rather than a reference to one.
        schema = definitions[schema["$ref"].removeprefix("#/$defs/")]
    return {**schema, "$defs": definitions} if definitions else schema


@dataclasses.dataclass(frozen=True)
class Field:
    """A member of an object."""

    name: str
    shape: Shape
    required: bool
    description: str = ""
    default: Any = None

    def schema(self, definitions: Schema) -> Schema:
        """The schema of the member, with its description and default."""
        schema = self.shape.schema(definitions)
        if self.description:
            schema = {**schema, "description": self.description}
        if not self.required and isinstance(self.default, (str, int, float)):
            schema = {**schema, "default": _json_default(self.default)}
        return schema


class ObjectShape:
    """An object with known members: the parameters of a function, a dataclass, a TypedDict."""

    def __init__(self, name: str, make: Callable[..., Any], description: str = "") -> None:
        self.name = name
        self.members: Sequence[Field] = ()
        self.is_recursive = False
        self._make = make
        self._description = description

    def schema(self, definitions: Schema) -> Schema:
        if not self.is_recursive:
            return self._in_place(definitions)
        if self.name not in definitions:
            definitions[self.name] = {}
            definitions[self.name] = self._in_place(definitions)
        return {"$ref": f"#/$defs/{self.name}"}

    def _in_place(self, definitions: Schema) -> Schema:
        schema: Schema = {"type": "object"}
        if self._description:
            schema["description"] = self._description
        schema["properties"] = {member.name: member.schema(definitions) for member in self.members}
        schema["required"] = [member.name for member in self.members if member.required]
        schema["additionalProperties"] = False
        return schema

    def decode(self, value: Any, path: str) -> Any:
        return self._make(**self.decode_members(value, path))

    def decode_members(self, value: Any, path: str) -> dict[str, Any]:
        """The members that the value has, by name."""
        members = _expect(value, dict, "an object", path)
        known = {member.name for member in self.members}
        for name in members:
            if name not in known:
                raise MismatchError(f"{path}/{name}", "unknown property")
        for member in self.members:
            if member.required and member.name not in members:
                raise MismatchError(f"{path}/{member.name}", "required, but missing")
        return {
            member.name: member.shape.decode(members[member.name], f"{path}/{member.name}")
            for member in self.members
            if member.name in members
        }


class _Any:
    def schema(self, definitions: Schema) -> Schema:
        return {}

    def decode(self, value: Any, path: str) -> Any:
        return value


@dataclasses.dataclass(frozen=True)
class _Scalar:
    """A text, a boolean or null."""

    type: type
    name: str
    noun: str

    def schema(self, definitions: Schema) -> Schema:
        return {"type": self.name}

    def decode(self, value: Any, path: str) -> Any:
        return _expect(value, self.type, self.noun, path)


class _Integer:
    def schema(self, definitions: Schema) -> Schema:
        return {"type": "integer"}

    def decode(self, value: Any, path: str) -> Any:
        # 3.0 is an integer in JSON Schema.
        if isinstance(value, float) and value.is_integer():
            return int(value)
        if isinstance(value, bool):
            raise MismatchError(path, "expected an integer, found a boolean")
        return _expect(value, int, "an integer", path)


class _Number:
    def schema(self, definitions: Schema) -> Schema:
        return {"type": "number"}

    def decode(self, value: Any, path: str) -> Any:
        if isinstance(value, bool):
            raise MismatchError(path, "expected a number, found a boolean")
        return float(_expect(value, (int, float), "a number", path))


@dataclasses.dataclass(frozen=True)
class _Formatted:
    """A text in a known format, such as a date."""

    format: str
    parse: Callable[[str], Any]

    def schema(self, definitions: Schema) -> Schema:
        return {"type": "string", "format": self.format}

    def decode(self, value: Any, path: str) -> Any:
        text = _expect(value, str, "a string", path)
        try:
            # Python reads Z as an offset from 3.11 on.
            return self.parse(re.sub("Z$", "+00:00", text))
        except ValueError as error:
            raise MismatchError(path, f"expected a {self.format}: {error}") from None


@dataclasses.dataclass(frozen=True)
class _Choice:
    """One of some values: a Literal or an Enum."""

    choices: Sequence[tuple[Any, Any]]
    """JSON value and Python value of each."""

    def schema(self, definitions: Schema) -> Schema:
        values = [value for value, _ in self.choices]
        kinds = {_noun_of(value) for value in values}
        names = {"a string": "string", "an integer": "integer", "a number": "number", "a boolean": "boolean"}
        name = names.get(kinds.pop()) if len(kinds) == 1 else None
        return {"enum": values} if name is None else {"type": name, "enum": values}

    def decode(self, value: Any, path: str) -> Any:
        for choice, result in self.choices:
            if type(choice) is type(value) and choice == value:
                return result
        expected = ", ".join(repr(choice) for choice, _ in self.choices)
        raise MismatchError(path, f"expected one of {expected}")


@dataclasses.dataclass(frozen=True)
class _List:
    """A list, set or tuple of any length."""

    items: Shape
    make: Callable[[Iterable[Any]], Any]
    is_unique: bool = False

    def schema(self, definitions: Schema) -> Schema:
        schema: Schema = {"type": "array", "items": self.items.schema(definitions)}
        return {**schema, "uniqueItems": True} if self.is_unique else schema

    def decode(self, value: Any, path: str) -> Any:
        items = _expect(value, list, "an array", path)
        return self.make(self.items.decode(item, f"{path}/{index}") for index, item in enumerate(items))


@dataclasses.dataclass(frozen=True)
class _Tuple:
    """A tuple of fixed length."""

    items: Sequence[Shape]

    def schema(self, definitions: Schema) -> Schema:
        schemas = [item.schema(definitions) for item in self.items]
        length = len(self.items)
        return {"type": "array", "prefixItems": schemas, "minItems": length, "maxItems": length}

    def decode(self, value: Any, path: str) -> Any:
        items = _expect(value, list, "an array", path)
        if len(items) != len(self.items):
            raise MismatchError(path, f"expected {len(self.items)} items, found {len(items)}")
        return tuple(
            shape.decode(item, f"{path}/{index}")
            for index, (shape, item) in enumerate(zip(self.items, items, strict=True))
        )


@dataclasses.dataclass(frozen=True)
class _Map:
    values: Shape

    def schema(self, definitions: Schema) -> Schema:
        values = self.values.schema(definitions)
        return {"type": "object", "additionalProperties": values or True}

    def decode(self, value: Any, path: str) -> Any:
        members = _expect(value, dict, "an object", path)
        return {name: self.values.decode(member, f"{path}/{name}") for name, member in members.items()}


@dataclasses.dataclass(frozen=True)
class _Union:
    options: Sequence[Shape]

    def schema(self, definitions: Schema) -> Schema:
        return {"anyOf": [option.schema(definitions) for option in self.options]}

    def decode(self, value: Any, path: str) -> Any:
        problems: list[str] = []
        for option in self.options:
            try:
                return option.decode(value, path)
            except MismatchError as mismatch:
                problems.append(str(mismatch))
        raise MismatchError(path, f"matches none of {len(self.options)} types: {'; '.join(problems)}")


@dataclasses.dataclass(frozen=True)
class _Described:
    shape: Shape
    description: str

    def schema(self, definitions: Schema) -> Schema:
        return {**self.shape.schema(definitions), "description": self.description}

    def decode(self, value: Any, path: str) -> Any:
        return self.shape.decode(value, path)


@dataclasses.dataclass(frozen=True)
class _Model:
    """A pydantic model, which writes its schema and validates values itself."""

    model: Any

    def schema(self, definitions: Schema) -> Schema:
        schema: Schema = self.model.model_json_schema()
        for name, definition in schema.pop("$defs", {}).items():
            if definitions.setdefault(name, definition) != definition:
                raise TypeError(f"two different models of one schema have the name {name}")
        return schema

    def decode(self, value: Any, path: str) -> Any:
        try:
            return self.model.model_validate(value)
        except ValueError as error:
            raise _mismatch_of_model(error, path) from error


_SCALARS: Mapping[object, Shape] = {
    Any: _Any(),
    object: _Any(),
    str: _Scalar(str, "string", "a string"),
    bool: _Scalar(bool, "boolean", "a boolean"),
    type(None): _Scalar(type(None), "null", "null"),
    None: _Scalar(type(None), "null", "null"),
    int: _Integer(),
    float: _Number(),
    datetime.datetime: _Formatted("date-time", datetime.datetime.fromisoformat),
    datetime.date: _Formatted("date", datetime.date.fromisoformat),
    datetime.time: _Formatted("time", datetime.time.fromisoformat),
    uuid.UUID: _Formatted("uuid", uuid.UUID),
}

_LISTS: Mapping[object, tuple[Callable[[Iterable[Any]], Any], bool]] = {
    list: (list, False),
    collections.abc.Sequence: (list, False),
    collections.abc.Iterable: (list, False),
    collections.abc.Collection: (list, False),
    set: (set, True),
    frozenset: (frozenset, True),
    collections.abc.Set: (frozenset, True),
}

_MAPS = frozenset({dict, collections.abc.Mapping, collections.abc.MutableMapping})


class _Compiler:
    """Compiles hints, each class once, so that a class may contain itself."""

    def __init__(self) -> None:
        self._objects: dict[type, ObjectShape] = {}
        self._open: set[type] = set()

    def shape(self, hint: Any) -> Shape:
        try:
            known = _SCALARS.get(hint)
        except TypeError:  # A hint that cannot be a key, such as Annotated with a list.
            known = None
        if known is not None:
            return known
        origin = get_origin(hint)
        if origin is not None:
            return self._generic(hint, origin, get_args(hint))
        if hasattr(hint, "__supertype__"):  # NewType
            return self.shape(hint.__supertype__)
        if hasattr(hint, "__value__"):  # type Name = ...
            return self.shape(hint.__value__)
        return self._class(hint)

    def _generic(self, hint: Any, origin: Any, arguments: tuple[Any, ...]) -> Shape:
        if origin is Annotated:
            shape = self.shape(arguments[0])
            description = description_in(hint)
            return _Described(shape, description) if description else shape
        if origin is Union or origin is types.UnionType:
            return _Union([self.shape(argument) for argument in arguments])
        if origin is Literal:
            return _Choice([(_json_default(value), value) for value in arguments])
        if origin in _LISTS:
            make, is_unique = _LISTS[origin]
            return _List(self.shape(arguments[0]), make, is_unique)
        if origin is tuple:
            return self._tuple(arguments)
        if origin in _MAPS:
            if arguments[0] is not str:
                raise TypeError(f"{hint}: keys of a JSON object are strings")
            return _Map(self.shape(arguments[1]))
        if getattr(origin, "__name__", getattr(origin, "_name", "")) in (
            "Required",
            "NotRequired",
            "ReadOnly",
        ):
            return self.shape(arguments[0])
        return self._class(hint)

    def _tuple(self, arguments: tuple[Any, ...]) -> Shape:
        if len(arguments) == 2 and arguments[1] is ...:
            return _List(self.shape(arguments[0]), tuple)
        return _Tuple([self.shape(argument) for argument in arguments])

    def _class(self, hint: Any) -> Shape:
        if callable(getattr(hint, "model_json_schema", None)):
            return _Model(hint)
        if isinstance(hint, type):
            if issubclass(hint, enum.Enum):
                return _Choice([(member.value, member) for member in hint])
            if dataclasses.is_dataclass(hint):
                return self._object(hint, _dataclass_members)
            if hasattr(hint, "__total__"):
                return self._object(hint, _typed_dict_members)
            if hint in _LISTS:
                make, is_unique = _LISTS[hint]
                return _List(_Any(), make, is_unique)
            if hint is tuple:
                return _List(_Any(), tuple)
            if hint in _MAPS:
                return _Map(_Any())
        raise TypeError(f"{hint!r} has no form in JSON Schema")

    def _object(self, hint: type, members_of: Callable[[type], Iterable[_Member]]) -> ObjectShape:
        known = self._objects.get(hint)
        if known is not None:
            known.is_recursive = known.is_recursive or hint in self._open
            return known
        is_taken = any(other.name == hint.__name__ for other in self._objects.values())
        name = f"{hint.__name__}_{len(self._objects)}" if is_taken else hint.__name__
        shape = ObjectShape(name, hint, _own_docstring(hint))
        self._objects[hint] = shape
        self._open.add(hint)
        shape.members = [
            Field(name, self.shape(member), required, default=default)
            for name, member, required, default in members_of(hint)
        ]
        self._open.discard(hint)
        return shape


def _mismatch_of_model(error: Any, path: str) -> MismatchError:
    """All problems of pydantic's error, without its links to pydantic's documentation."""
    problems = [
        (path + "".join(f"/{part}" for part in problem["loc"]), problem["msg"])
        for problem in error.errors(include_url=False)
    ]
    (first_path, first), *rest = problems
    return MismatchError(first_path, "; ".join([first, *(f"{where}: {what}" for where, what in rest)]))


_Member = tuple[str, Any, bool, Any]
"""Name, type hint, whether it is required, default."""


def _dataclass_members(hint: Any) -> Iterable[_Member]:
    hints = hints_of(hint)
    for field in dataclasses.fields(hint):
        if field.init:
            required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
            yield field.name, hints[field.name], required, field.default


def _typed_dict_members(hint: Any) -> Iterable[_Member]:
    for name, member in hints_of(hint).items():
        origin = get_origin(member)
        # Where annotations are kept as texts, only the resolved hint says what is required.
        marker = getattr(origin, "__name__", getattr(origin, "_name", ""))
        required = (
            marker == "Required" if marker in ("Required", "NotRequired") else name in hint.__required_keys__
        )
        yield name, member, required, None


def description_in(hint: Any) -> str:
    """The description in `Annotated[..., "description"]` or in a pydantic `Field`, if any."""
    for extra in getattr(hint, "__metadata__", ()):
        text = extra if isinstance(extra, str) else getattr(extra, "description", None)
        if isinstance(text, str):
            return text
    return ""


def _own_docstring(hint: type) -> str:
    text = (hint.__doc__ or "").strip()
    # A dataclass without one gets its signature.
    is_generated = text.startswith(f"{hint.__name__}(") or text == (dict.__doc__ or "").strip()
    return "" if is_generated else text


def _json_default(value: Any) -> Any:
    return value.value if isinstance(value, enum.Enum) else value


def _expect(value: Any, kind: Any, noun: str, path: str) -> Any:
    if not isinstance(value, kind):
        raise MismatchError(path, f"expected {noun}, found {_noun_of(value)}")
    return value


def _noun_of(value: object) -> str:
    if value is None:
        return "null"
    nouns = {str: "a string", bool: "a boolean", int: "an integer", float: "a number", list: "an array"}
    return nouns.get(type(value), "an object")


def hints_of(described: Callable[..., Any]) -> Mapping[str, Any]:
    """The resolved type hints of a function or class."""
    try:
        return get_type_hints(described, include_extras=True)
    except NameError as error:
        raise TypeError(f"a type hint of {described.__qualname__} cannot be resolved: {error}") from error
